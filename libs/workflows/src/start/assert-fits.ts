import { entryTooLong, promptTooLong, tooManyEntries } from './start.errors.js';
import type { StartWorkflow } from './start-workflow.js';

/** The prompt limit of a workflow, in UTF-16 units. */
export const longestPrompt = 12_000;

/** Limits of the history and attachments of a start, in UTF-16 units and entries. */
const most = { prompt: longestPrompt, attachments: 20, history: 200, historyEntry: 8_000 } as const;

/** Throws `too_large`. */
export function assertFits({ prompt, attachments, history, historyField = 'history' }: StartWorkflow): void {
  if (prompt.length > most.prompt) throw promptTooLong(most.prompt);
  if (attachments.length > most.attachments) throw tooManyEntries('attachments', most.attachments);
  if (history.length > most.history) throw tooManyEntries(historyField, most.history);
  for (const { content } of history) {
    const text = typeof content === 'string' ? content : JSON.stringify(content ?? '');
    if (text.length > most.historyEntry) throw entryTooLong(historyField, most.historyEntry);
  }
}
