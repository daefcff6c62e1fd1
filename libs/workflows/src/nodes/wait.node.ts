import { fillText, parseTemplate } from '../definition/template.js';
import { type ContextOf, defineNode } from './define-node.js';
import { givenText, handOn, leadsOn } from './settlements.js';
import { lookupOf } from './template-lookup.js';
import { refusal } from './to-node-error.js';

/** Waits for a time or for an event. Its output is the data of the event, or else its input. */
export const waitNode = defineNode({
  type: 'wait',
  run: async (context) => {
    const event = eventOf(context);
    const at = event === null ? instantOf(context) : deadlineOf(context);
    if (event === null && at === null) throw refusal('Wait node has nothing to wait for');
    const waited = await context.ports.waitFor({ at, event });
    if (waited.type === 'waiting') return waited;
    if (event === null || !waited.timedOut) return handOn(givenText(waited.data) ?? context.input);
    if (leadsOn(context, 'timeout')) return handOn(context.input, ['timeout']);
    throw refusal(`Waiting for the event "${event}" timed out`);
  },
});

function eventOf(context: ContextOf<'wait'>): string | null {
  const { event } = context.node.data;
  return event === undefined ? null : fillText(parseTemplate(event), lookupOf(context));
}

/** When the wait for an event ends; null: the workspace's setting applies. */
function deadlineOf(context: ContextOf<'wait'>): number | null {
  const { timeout } = context.node.data;
  return timeout === undefined || timeout === 0 ? instantOf(context) : context.ports.now() + timeout;
}

function instantOf(context: ContextOf<'wait'>): number | null {
  const { until, durationMs } = context.node.data;
  if (until === undefined) return durationMs === undefined ? null : context.ports.now() + durationMs;
  const text = fillText(parseTemplate(until), lookupOf(context)).trim();
  const at = Date.parse(text);
  if (Number.isNaN(at)) throw refusal(`Invalid instant to wait for: "${text.slice(0, 100).toWellFormed()}"`);
  return at;
}
