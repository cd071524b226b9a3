import { epic, oneOf, optional, text, time, withFields } from '../checks.ts';
import { type NoticeKind, noticeKinds } from '../config/load.ts';
import { hash } from '../digest.ts';
import type { EpicId, Millis } from '../types.ts';
import { formatInstant } from '../units.ts';

/** Something that people want to hear of while they are not watching. */
export type Notice = {
  /** The same whenever the same happening is noted: receivers and the outbox know repeats by it. */
  readonly id: string;
  readonly kind: NoticeKind | 'test';
  readonly at: Millis;
  readonly epic: EpicId;
  readonly task?: string;
  /** In plain words, without secrets. */
  readonly text: string;
  /** The command a person would type next. */
  readonly next?: string;
};

/** What has happened; `unique` tells it from others of its kind in this epic and task. */
export type Happening = Omit<Notice, 'id' | 'kind'> & {
  readonly kind: NoticeKind;
  readonly unique: readonly (string | number)[];
};

export const isNotice = withFields<Notice>({
  id: text,
  kind: oneOf<Notice['kind']>(...noticeKinds, 'test'),
  at: time,
  epic,
  task: optional(text),
  text,
  next: optional(text),
});

export function makeNotice({ unique, ...happening }: Happening): Notice {
  const { epic: of, kind, task = null } = happening;
  return { id: makeId([of, kind, task, ...unique]), ...happening };
}

export function makeId(what: readonly unknown[]): string {
  return `ev-${hash('sha256', JSON.stringify(what)).slice(0, 16)}`;
}

/** What a receiver gets. */
export function formatNotice({ id, kind, at, epic: of, task, text: says, next }: Notice): string {
  return JSON.stringify({
    ...{ id, kind, at: formatInstant(at), epic: of },
    ...(task !== undefined && { task }),
    text: says,
    ...(next !== undefined && { next }),
  });
}
