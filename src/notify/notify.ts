import { messageOf } from '../errors.ts';
import type { Orch } from '../orch.ts';
import { type Happening, makeNotice } from './notice.ts';
import { keptFor, queueNotice } from './outbox.ts';

/** Queues a notice for everyone who wants to hear of this. Never throws: the work goes on without it. */
export async function notify(orch: Orch, happening: Happening): Promise<void> {
  try {
    const { notify: receivers } = await orch.readConfig();
    const wanting = receivers.filter(({ on }) => on.includes(happening.kind));
    const now = orch.clock.now();
    // What is older may have been sent, and the mark of that removed.
    if (wanting.length === 0 || now - happening.at >= keptFor) return;
    const { next } = happening;
    const notice = makeNotice({
      ...happening,
      text: await orch.redact(happening.text),
      ...(next !== undefined && { next: await orch.redact(next) }),
    });
    for (const { name } of wanting) await queueNotice(orch, notice, name, now);
  } catch (error) {
    orch.report(`a notice could not be queued: ${messageOf(error)}`);
  }
}
