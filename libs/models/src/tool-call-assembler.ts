import { JsonScan, toStorable, toStorableText } from '#platform';

import { MAX_ARGUMENT_BYTES, type RequestedCall } from './model/model.js';

/** A piece of a tool call, as a chunk contains it. The type and value of each member are unreliable. */
export interface CallFragment {
  readonly index?: unknown;
  readonly id?: unknown;
  readonly function?: { readonly name?: unknown; readonly arguments?: unknown } | null;
}

interface OpenCall {
  id: string;
  name: string;
  arguments: string;
  /** Follows `arguments`. Parsing them again for each fragment would take time quadratic in their length. */
  readonly scan: JsonScan;
  readonly index: number | undefined;
}

/** The limits of the assembler apply instead. */
const unlimited = { depth: Number.POSITIVE_INFINITY, tokens: Number.POSITIVE_INFINITY };

/** The model requested more calls, or longer arguments, than the limits allow. */
export class ToolCallsTooLarge extends Error {}

/**
 * Assembles the tool calls of one response from their fragments. Providers give wrong indexes, repeat or omit ids, and send calls in pieces
 * or whole, so neither index nor id identifies a call. The first rule that matches applies:
 * 1. A known id identifies its call, at any index, unless the fragment begins another whole call (see `startsAnother`).
 * 2. A new id starts a call, even at an index that is in use.
 * 3. A fragment with a name and without an id starts a call, if the call that it would continue has another name, or has the same name and
 *    complete arguments.
 * 4. Any other fragment continues the call at its index, or else the call that grew last.
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

  /** UTF-16 units of names and arguments so far, for the limit and for estimates of usage. */
  length = 0;

  get isEmpty(): boolean {
    return this.calls.length === 0;
  }

  /** Throws `ToolCallsTooLarge` if a limit is exceeded. */
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
    // Some providers repeat the name in each fragment.
    this.length += text.length + (call.name === '' ? name.length : 0);
    if (this.length > this.limits.maxArgumentsLength) throw new ToolCallsTooLarge();
    if (call.name === '') call.name = name;
    call.arguments += text;
    call.scan.push(Buffer.from(text));
    if (index !== undefined) this.byIndex.set(index, call);
    this.last = call;
  }

  /** The calls in the order in which they began. A missing or repeated id is replaced by a new one, and empty arguments become `{}`. */
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
    // A fragment with an unknown index and without a name: the provider gave a wrong index for the open call.
    const candidate = indexed ?? (name === '' ? this.last : undefined);
    return candidate !== undefined && !startsAnother(candidate, name, text) ? candidate : undefined;
  }

  private start(id: string, index: number | undefined): OpenCall {
    if (this.calls.length >= this.limits.maxToolCalls) throw new ToolCallsTooLarge();
    const call: OpenCall = { id, name: '', arguments: '', scan: new JsonScan(unlimited), index };
    this.calls.push(call);
    if (id !== '') this.byId.set(id, call);
    return call;
  }
}

/** Whether a fragment with a name cannot continue `call`: it has another name, or more arguments although those of `call` are complete. */
function startsAnother(call: OpenCall, name: string, text: string): boolean {
  if (name === '' || call.name === '') return false;
  return name !== call.name || (text !== '' && call.scan.isClosed);
}

function toArgumentsText(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : '';
}

/** Checks escapes too: `\u0000` inside JSON text becomes a NUL when a consumer parses it. */
function toStorableArguments(text: string): string {
  if (text.trim() === '') return '{}';
  const clean = toStorableText(text);
  if (clean.length > MAX_ARGUMENT_BYTES || !/\\u(?:0000|d[89a-f])/i.test(clean)) return clean;
  try {
    return JSON.stringify(toStorable(JSON.parse(clean)));
  } catch {
    return clean; // not JSON, or nested too deep: the tool's own validation reports that to the model
  }
}
