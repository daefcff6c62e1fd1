import { redactArguments } from '#approvals';
import type { ToolCallItem } from '#jobs';
import { modelTextOf, projectResult, readArguments, type ToolCallStatus } from '#tools';

/** Hides secrets of calls. */
export interface CallSecrets {
  /** The names of a tool's arguments that viewers must not see. */
  readonly sensitiveFieldsOf: (tool: string) => readonly string[];
  /** Replaces the secrets in a text. */
  readonly redact: (text: string) => string;
}

/** The current state of a call. */
export interface SeenCall {
  readonly round: number;
  readonly status: ToolCallStatus;
  readonly item: ToolCallItem;
}

/** Maximum length of a shown value, of all arguments, and of a result, in UTF-16 units before escaping. */
const longest = { value: 250, list: 1_200, result: 500 } as const;

/** These calls never ran, so they are not shown as failures. */
export const refusedStatuses: ReadonlySet<ToolCallStatus> = new Set(['denied', 'skipped', 'cancelled']);

/** Formats calls for a response, without secrets. Pure. */
export class CallText {
  constructor(private readonly secrets: CallSecrets) {}

  inlineStart(number: number, call: SeenCall): string {
    return `<tool id="${number}" state="start">${escapeText(this.signature(call.item))}</tool>`;
  }

  inlineDone(number: number, call: SeenCall): string {
    const result = cut(this.result(call), longest.result);
    return `<tool id="${number}" state="done">${escapeText(this.signature(call.item))}\n${escapeText(result)}</tool>`;
  }

  openWebUi(call: SeenCall): string {
    const { id, name } = call.item;
    const args = attribute('arguments', JSON.stringify(projectResult(this.arguments(call.item), 'ui')));
    const result = attribute('result', JSON.stringify(projectResult(this.result(call), 'ui')));
    const about = `type="tool_calls" done="true" ${attribute('id', id)} ${attribute('name', name)}`;
    return `<details ${about} ${args} ${result} files="" embeds="">\n<summary>Tool Executed</summary>\n</details>`;
  }

  /** The text of the model, unless some arguments are hidden. */
  private arguments({ name, args }: ToolCallItem): string {
    const { sensitiveFieldsOf, redact } = this.secrets;
    const parsed = readArguments(args);
    if (!parsed.ok) return redact(args);
    const shown = JSON.stringify(redactArguments(parsed.value, sensitiveFieldsOf(name)));
    return redact(shown === JSON.stringify(parsed.value) ? args : shown);
  }

  /** `name(key=value, key2=value2)` */
  private signature({ name, args }: ToolCallItem): string {
    const { sensitiveFieldsOf, redact } = this.secrets;
    const parsed = readArguments(args);
    const list = parsed.ok
      ? Object.entries(redactArguments(parsed.value, sensitiveFieldsOf(name))).map(
          ([key, value]) => `${key}=${cut(redact(textOf(value)), longest.value)}`,
        )
      : [redact(args)];
    return `${name}(${cut(list.join(', '), longest.list)})`;
  }

  private result({ status, item }: SeenCall): string {
    const { name, result, error } = item;
    const failure = error === undefined ? null : { phase: 'execution' as const, message: error };
    const text = result ?? modelTextOf({ name, status, effect: 'once', result: null, error: failure });
    const isFailure = status !== 'completed' && !refusedStatuses.has(status);
    return this.secrets.redact(isFailure ? `Error: ${text}` : text);
  }
}

export function inlineInterrupted(number: number): string {
  return `<tool id="${number}" state="done">(interrupted)</tool>`;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Cuts a text, but not within a surrogate pair. */
function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  const last = text.charCodeAt(length - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? length - 1 : length);
}

/** An attribute on a single line, because the parser finds blocks line by line. */
function attribute(name: string, value: string): string {
  const line = escapeText(value).replace(/[\p{Cc}\u2028\u2029]/gu, (character) => `&#${character.charCodeAt(0)};`);
  return `${name}="${line}"`;
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#x27;',
};

function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, (character) => escapes[character] ?? character);
}
