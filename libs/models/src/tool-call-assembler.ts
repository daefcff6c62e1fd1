import { toStorable, toStorableText } from '#platform';

import type { RequestedCall } from './model.js';

/** A piece of a tool call as it appears in a chunk; none of its members is reliable. */
export interface CallFragment {
  readonly index?: unknown;
  readonly id?: unknown;
  readonly function?: { readonly name?: unknown; readonly arguments?: unknown } | null;
}

interface OpenCall {
  id: string;
  name: string;
  arguments: string;
  readonly index: number | undefined;
}

/** A model asked for more calls, or longer arguments, than the caps allow. */
export class ToolCallsTooLarge extends Error {}

/**
 * Puts the tool calls of one answer together from their fragments. Providers number calls wrongly, repeat or leave out ids,
 * and send calls in pieces or whole, so neither index nor id is an identity; the rules, first match wins:
 * 1. A known id identifies its call, at any index. (Unless a whole new call comes under it: see `startsAnother`.)
 * 2. A new id starts a call, also on an index that is in use.
 * 3. Without an id, a fragment with a name starts a call when the call it would join has one already and is complete or named
 *    differently.
 * 4. Otherwise it joins the call its index belongs to, or else the one that grew last.
 */
export class ToolCallAssembler {
  private readonly calls: OpenCall[] = [];
  private readonly byId = new Map<string, OpenCall>();
  private readonly byIndex = new Map<number, OpenCall>();
  private last: OpenCall | undefined;

  constructor(
    private readonly limits: { readonly maxToolCalls: number; readonly maxArgumentsLength: number },
    private readonly newCallId: () => string,
  ) {}

  /** How many UTF-16 units of names and arguments have come; for estimates of usage. */
  length = 0;

  get isEmpty(): boolean {
    return this.calls.length === 0;
  }

  /** Throws `ToolCallsTooLarge` when a cap is passed. */
  add(fragment: CallFragment): void {
    const id = typeof fragment.id === 'string' ? fragment.id : '';
    const index = typeof fragment.index === 'number' ? fragment.index : undefined;
    const name = typeof fragment.function?.name === 'string' ? fragment.function.name : '';
    const text = toArgumentsText(fragment.function?.arguments);
    if (id === '' && index === undefined && name === '' && text === '') return;

    const call = this.find({ id, index, name, text }) ?? this.start(id, index);
    if (id !== '' && call.id === '') {
      call.id = id;
      this.byId.set(id, call);
    }
    if (call.name === '') call.name = name;
    call.arguments += text;
    this.length += name.length + text.length;
    if (call.arguments.length > this.limits.maxArgumentsLength) throw new ToolCallsTooLarge();
    if (index !== undefined) this.byIndex.set(index, call);
    this.last = call;
  }

  /** The calls in the order in which they began; ids are made where they are missing or double, empty arguments become `{}`. */
  finish(): RequestedCall[] {
    const used = new Set<string>();
    return this.calls
      .filter((call) => call.name !== '' || call.arguments !== '')
      .map((call) => {
        const callId = call.id === '' || used.has(call.id) ? this.newCallId() : toStorableText(call.id);
        used.add(callId);
        return { callId, name: toStorableText(call.name), arguments: toStorableArguments(call.arguments) };
      });
  }

  private find(fragment: { id: string; index: number | undefined; name: string; text: string }): OpenCall | undefined {
    const { id, index, name, text } = fragment;
    if (id !== '') {
      const known = this.byId.get(id);
      if (known !== undefined) return index !== known.index && startsAnother(known, name, text) ? undefined : known;
      const candidate = index === undefined ? this.last : this.byIndex.get(index);
      return candidate?.id === '' && !startsAnother(candidate, name, text) ? candidate : undefined;
    }
    const indexed = index === undefined ? this.last : this.byIndex.get(index);
    // A number never seen, on a fragment that introduces nothing: the provider miscounted the open call.
    const candidate = indexed ?? (name === '' ? this.last : undefined);
    return candidate !== undefined && !startsAnother(candidate, name, text) ? candidate : undefined;
  }

  private start(id: string, index: number | undefined): OpenCall {
    if (this.calls.length >= this.limits.maxToolCalls) throw new ToolCallsTooLarge();
    const call: OpenCall = { id, name: '', arguments: '', index };
    this.calls.push(call);
    if (id !== '') this.byId.set(id, call);
    return call;
  }
}

/** Whether a named fragment cannot be a continuation of `call`: another name, or more arguments after complete ones. */
function startsAnother(call: OpenCall, name: string, text: string): boolean {
  if (name === '' || call.name === '') return false;
  return name !== call.name || (text !== '' && isWholeJson(call.arguments));
}

function isWholeJson(text: string): boolean {
  if (text === '') return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function toArgumentsText(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : '';
}

/** Checks escapes too: `\u0000` inside JSON text becomes a NUL when a consumer parses it. */
function toStorableArguments(text: string): string {
  if (text.trim() === '') return '{}';
  const clean = toStorableText(text);
  if (!/\\u(?:0000|d[89a-f])/i.test(clean)) return clean;
  try {
    return JSON.stringify(toStorable(JSON.parse(clean)));
  } catch {
    return clean; // not JSON, or too deep: the tool's own validation answers that to the model
  }
}
