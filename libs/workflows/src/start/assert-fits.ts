import { entryTooLong, promptTooLong, tooManyEntries } from './start.errors.js';
import type { StartWorkflow } from './start-workflow.js';

/** The prompt limit of a workflow, in UTF-16 units. */
export const longestPrompt = 12_000;

/** Limits of the history and attachments of a start, in UTF-16 units and entries. */
const max = { prompt: longestPrompt, attachments: 20, history: 200, historyEntry: 8_000 } as const;

/** Throws `too_large`. */
export function assertFits({ prompt, attachments, history, historyField = 'history' }: StartWorkflow): void {
  if (prompt.length > max.prompt) throw promptTooLong(max.prompt);
  if (attachments.length > max.attachments) throw tooManyEntries('attachments', max.attachments);
  if (history.length > max.history) throw tooManyEntries(historyField, max.history);
  for (const { content } of history) {
    const text = typeof content === 'string' ? content : JSON.stringify(content ?? '');
    if (text.length > max.historyEntry) throw entryTooLong(historyField, max.historyEntry);
  }
}
