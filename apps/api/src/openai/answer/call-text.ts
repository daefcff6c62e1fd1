import { redactArguments } from '#approvals';
import type { ToolCallItem } from '#jobs';
import { modelTextOf, projectResult, readArguments, type ToolCallStatus } from '#tools';

/** Hides secrets of calls. */
export interface CallSecrets {
  /** The names of a tool's arguments that viewers must not see. */
  readonly sensitiveFieldsOf: (tool: string) => readonly string[];
  /** Replaces the secrets in a text. */
  readonly redact: (text: string) => string;
  /** Replaces the secrets in the beginning of a text, which may end within a secret. */
  readonly redactCut: (text: string) => string;
}

/** The current state of a call. */
export interface SeenCall {
  readonly round: number;
  readonly status: ToolCallStatus;
  readonly item: ToolCallItem;
}

/** Maximum length of a shown value, of all arguments, and of a result, in UTF-16 units before escaping. */
const longest = { value: 250, list: 1_200, result: 500 } as const;

/** Characters redacted beyond the shown ones, so that a secret that begins within them is redacted completely, in any form. */
const maxSecretLength = 32_768;

/** These calls never ran, so they are not shown as failures. */
export const refusedStatuses: ReadonlySet<ToolCallStatus> = new Set(['denied', 'skipped', 'cancelled']);

/** Formats calls for a response, without secrets. Pure. */
export class CallText {
  /** The start and the end of a call show the same arguments. */
  private readonly signatures = new WeakMap<ToolCallItem, string>();

  constructor(private readonly secrets: CallSecrets) {}

  inlineStart(number: number, call: SeenCall): string {
    return `<tool id="${number}" state="start">${escapeText(this.signature(call.item))}</tool>`;
  }

  inlineDone(number: number, call: SeenCall): string {
    const result = this.beginning(resultOf(call), longest.result);
    return `<tool id="${number}" state="done">${escapeText(this.signature(call.item))}\n${escapeText(result)}</tool>`;
  }

  openWebUi(call: SeenCall): string {
    const { id, name } = call.item;
    const args = attribute('arguments', JSON.stringify(projectResult(this.arguments(call.item), 'ui')));
    const result = attribute('result', JSON.stringify(projectResult(this.secrets.redact(resultOf(call)), 'ui')));
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
  private signature(item: ToolCallItem): string {
    const known = this.signatures.get(item);
    if (known !== undefined) return known;
    const signature = `${item.name}(${cut(this.list(item), longest.list)})`;
    this.signatures.set(item, signature);
    return signature;
  }

  private list({ name, args }: ToolCallItem): string {
    const parsed = readArguments(args);
    if (!parsed.ok) return this.beginning(args, longest.list);
    let list = '';
    for (const [key, value] of Object.entries(redactArguments(parsed.value, this.secrets.sensitiveFieldsOf(name)))) {
      list += `${list === '' ? '' : ', '}${key}=${this.beginning(textOf(value), longest.value)}`;
      if (list.length >= longest.list) break;
    }
    return list;
  }

  /** Redacts only the part of a text that can affect the shown characters: a result may have 256 KiB. */
  private beginning(text: string, length: number): string {
    const end = length + maxSecretLength;
    const { redact, redactCut } = this.secrets;
    return cut(text.length > end ? redactCut(text.slice(0, end)) : redact(text), length);
  }
}

function resultOf({ status, item }: SeenCall): string {
  const { name, result, error } = item;
  const failure = error === undefined ? null : { phase: 'execution' as const, message: error };
  const text = result ?? modelTextOf({ name, status, effect: 'once', result: null, error: failure });
  const isFailure = status !== 'completed' && !refusedStatuses.has(status);
  return isFailure ? `Error: ${text}` : text;
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
