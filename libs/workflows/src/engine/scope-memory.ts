import type { ChatMessage } from '#models';

import type { EarlierOutput, ScopeView } from './node-executor.js';

/** A map with another map beneath it, which it never copies or changes. */
class LayeredMap implements ReadonlyMap<string, string> {
  readonly own = new Map<string, string>();

  constructor(private readonly below: ReadonlyMap<string, string> | null) {}

  set(key: string, value: string): void {
    this.own.set(key, value);
  }

  get(key: string): string | undefined {
    return this.own.get(key) ?? this.below?.get(key);
  }

  has(key: string): boolean {
    return this.own.has(key) || this.below?.has(key) === true;
  }

  get size(): number {
    return this.merged().size;
  }

  forEach(visit: (value: string, key: string, map: ReadonlyMap<string, string>) => void): void {
    for (const [key, value] of this.merged()) visit(value, key, this);
  }

  entries(): MapIterator<[string, string]> {
    return this.merged().entries();
  }

  keys(): MapIterator<string> {
    return this.merged().keys();
  }

  values(): MapIterator<string> {
    return this.merged().values();
  }

  [Symbol.iterator](): MapIterator<[string, string]> {
    return this.merged().entries();
  }

  private merged(): ReadonlyMap<string, string> {
    return this.below === null ? this.own : new Map([...this.below, ...this.own]);
  }
}

/** The part of a scope that never changes. */
export type ScopeFacts = Pick<ScopeView, 'workflowName' | 'sessionId' | 'inputs' | 'attachments'>;

/** A finished node as later nodes see it. */
export interface Remembered extends EarlierOutput {
  /** Further outputs with names of their own: branches, errors. */
  readonly outputs: Readonly<Record<string, string>>;
  /** The response of the node in the conversation; null: none. */
  readonly response: string | null;
}

/**
 * What the nodes of a scope see. It grows only between waves, so all nodes of a wave share one view, and none sees its siblings. The body of a loop
 * also sees the nodes around the loop, without a copy.
 */
export class ScopeMemory implements ScopeView {
  readonly workflowName: string;
  readonly sessionId: string;
  readonly inputs: ScopeView['inputs'];
  readonly attachments: ScopeView['attachments'];
  private readonly own = new Map<string, EarlierOutput>();
  private readonly named: LayeredMap;
  private readonly responses: ChatMessage[];
  /** Created at the first use after a wave. */
  private list: readonly EarlierOutput[] | null = null;

  private constructor(
    facts: ScopeFacts,
    session: readonly ChatMessage[],
    private readonly around: ScopeMemory | null,
  ) {
    this.workflowName = facts.workflowName;
    this.sessionId = facts.sessionId;
    this.inputs = facts.inputs;
    this.attachments = facts.attachments;
    this.responses = [...session];
    this.named = new LayeredMap(around?.named ?? null);
  }

  /** The memory of a whole workflow: it begins with the conversation only. */
  static of(facts: ScopeFacts, session: readonly ChatMessage[]): ScopeMemory {
    return new ScopeMemory(facts, session, null);
  }

  /** The memory of a body: the body sees what is around it, and additions of the body stay inside. */
  inside(): ScopeMemory {
    return new ScopeMemory(this, [], this);
  }

  /** In the order of their first execution, each with its latest output. */
  get earlier(): readonly EarlierOutput[] {
    const around = this.around?.earlier ?? [];
    this.list ??= [...(around.length === 0 ? this.own : new Map([...around.map(byId), ...this.own])).values()];
    return this.list;
  }

  get outputs(): ReadonlyMap<string, string> {
    return this.named;
  }

  get session(): readonly ChatMessage[] {
    return this.around === null ? this.responses : [...this.around.session, ...this.responses];
  }

  add({ outputs, response, ...entry }: Remembered): void {
    this.list = null;
    this.own.set(entry.nodeId, entry);
    this.named.set(entry.nodeId, entry.output);
    for (const [name, output] of Object.entries(outputs)) this.named.set(name, output);
    if (response !== null) this.responses.push({ role: 'assistant', content: response });
  }

  /** Takes over the additions of a body when its loop has ended. */
  absorb(body: ScopeMemory): void {
    this.list = null;
    for (const [nodeId, entry] of body.own) this.own.set(nodeId, entry);
    for (const [name, output] of body.named.own) this.named.set(name, output);
    for (const message of body.responses) this.responses.push(message);
  }
}

function byId(entry: EarlierOutput): readonly [string, EarlierOutput] {
  return [entry.nodeId, entry];
}
