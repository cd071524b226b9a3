import { hash } from '../digest.ts';
import type { Fact } from '../state/facts.ts';
import { cutBytes } from '../text.ts';
import type { Json } from '../types.ts';

/* What the user decided when the agent asked through a tool of its own: the tool's answer comes only once they did. */

type Fields = { readonly [key: string]: Json };

const textOf = (value: Json | undefined): string | null => (typeof value === 'string' ? value : null);

/** A decision under a name that its content gives it: told twice it is still one. */
function decided(text: string, rationale: string): Fact {
  const id = `u-${hash('sha256', `${text}\n${rationale}`).slice(0, 12)}`;
  return {
    kind: 'decision',
    id,
    text: cutBytes(text, 1_000),
    rationale: cutBytes(rationale, 1_000),
    by: 'user',
  };
}

/** A plan that the user approved: all of it is what is worked on now, and its first line the decision. */
export function describePlan(input: Fields, response: Fields): Fact[] {
  const plan = (textOf(response.plan) ?? textOf(input.plan) ?? '').trim();
  if (plan === '' || response.isAgent === true) return [];
  const [first = ''] = plan.split('\n').filter((line) => line.trim() !== '');
  return [
    { kind: 'current_set', key: 'approvedPlan', value: { text: plan } },
    decided(`the plan “${first.replace(/^[#\s]+/, '').trim()}”`, 'approved'),
  ];
}

/** Each question that the user answered. What they passed over is not decided. */
export function describeAnswers(input: Fields, response: Fields): Fact[] {
  const given = response.answers ?? input.answers;
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return [];
  return Object.entries(given).flatMap(([question, answer]) => {
    const text = Array.isArray(answer)
      ? answer.filter((one) => typeof one === 'string').join(', ')
      : textOf(answer);
    return text === null || text.trim() === ''
      ? []
      : [decided(text.trim(), `answer to “${question.trim()}”`)];
  });
}
