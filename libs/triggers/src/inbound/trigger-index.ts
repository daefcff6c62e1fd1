import { LRUCache } from 'lru-cache';

import { type CollectionGlob, compileGlob } from './collection-glob.js';
import { compileCondition, type TriggerEvent, type TriggerExpression, valuesOf } from './trigger-condition.js';
import type { TriggerDefinition } from './trigger-definition.js';

/** A change of a document of a database. */
export interface DocumentChange extends TriggerEvent {
  readonly database: string;
  readonly collection: string;
}

/** The result of one trigger for one change. `problem`: the reason why a condition has no value; the trigger does not fire. */
export interface Evaluation<T> {
  readonly trigger: T;
  readonly fires: boolean;
  readonly problem: string | null;
}

interface Entry<T> {
  readonly trigger: T;
  readonly glob: CollectionGlob;
  /** Compiled at the first evaluation: a workspace may have 20,000 conditions. */
  readonly conditions: () => readonly TriggerExpression[];
}

const collectionsKept = 1_000;
/** Time limit for the conditions of all triggers of one event. The triggers after it do not fire. */
const eventMs = 500;

/**
 * Finds the triggers of a change. The order of the checks is database, event, collection, condition, filters: conditions are evaluated only for
 * triggers whose collection fits, and which those are is kept for the collections that were seen last. Immutable.
 */
export class TriggerIndex<T extends { readonly definition: TriggerDefinition }> {
  /** By database and event. */
  private readonly byEvent = new Map<string, Entry<T>[]>();
  private readonly byCollection = new LRUCache<string, readonly Entry<T>[]>({ max: collectionsKept });

  constructor(triggers: Iterable<T>) {
    for (const trigger of triggers) {
      const { database, events, collection } = trigger.definition;
      if (collection === null) continue;
      const entry = { trigger, glob: compileGlob(collection), conditions: lazyConditionsOf(trigger.definition) };
      for (const event of events) {
        const key = keyOf(database, event);
        const entries = this.byEvent.get(key) ?? [];
        entries.push(entry);
        this.byEvent.set(key, entries);
      }
    }
  }

  /** Those whose database, event and collection fit. Each is evaluated when the caller asks for it, so that the caller can pause between two. */
  evaluate(change: DocumentChange): Generator<Evaluation<T>, undefined> {
    return evaluateEach(this.candidates(change), change);
  }

  private candidates({ database, type, collection }: DocumentChange): readonly Entry<T>[] {
    const entries = this.byEvent.get(keyOf(database, type));
    if (entries === undefined) return [];
    const key = `${keyOf(database, type)} ${collection}`;
    const known = this.byCollection.get(key);
    if (known !== undefined) return known;
    const found = entries.filter(({ glob }) => glob(collection));
    this.byCollection.set(key, found);
    return found;
  }
}

/** Evaluates triggers that an event has reached, as `TriggerIndex` does. */
export function evaluateAll<T extends { readonly definition: TriggerDefinition }>(
  triggers: readonly T[],
  event: TriggerEvent,
): Generator<Evaluation<T>, undefined> {
  return evaluateEach(
    triggers.map((trigger) => ({ trigger, conditions: lazyConditionsOf(trigger.definition) })),
    event,
  );
}

function* evaluateEach<T>(
  entries: readonly Pick<Entry<T>, 'trigger' | 'conditions'>[],
  event: TriggerEvent,
): Generator<Evaluation<T>, undefined> {
  if (entries.length === 0) return;
  const values = valuesOf(event);
  let spentMs = 0;
  for (const { trigger, conditions } of entries) {
    if (spentMs > eventMs) {
      yield { trigger, fires: false, problem: `not evaluated: earlier triggers of the event took ${eventMs} ms` };
      continue;
    }
    const compiled = conditions(); // not counted: else the triggers of the first event after a start would not fire
    const start = performance.now();
    const decision = decide(compiled, values);
    spentMs += performance.now() - start;
    yield { trigger, ...decision };
  }
}

/** Whether a trigger fires for an event that has reached it: of a webhook, or of a document whose collection fits. */
export function evaluateConditions(
  definition: TriggerDefinition,
  event: TriggerEvent,
): Pick<Evaluation<never>, 'fires' | 'problem'> {
  return decide(conditionsOf(definition), valuesOf(event));
}

function lazyConditionsOf(definition: TriggerDefinition): () => readonly TriggerExpression[] {
  let conditions: readonly TriggerExpression[] | undefined;
  return () => (conditions ??= conditionsOf(definition));
}

function conditionsOf({ condition, filters }: TriggerDefinition): readonly TriggerExpression[] {
  return [condition, ...filters].filter((source) => source !== '').map(toExpression);
}

/** A stored condition that an older build accepted may not compile any more: that is the problem of each evaluation. */
function toExpression(source: string): TriggerExpression {
  const compiled = compileCondition(source);
  return compiled.ok ? compiled.evaluate : () => compiled;
}

function decide(conditions: readonly TriggerExpression[], values: ReturnType<typeof valuesOf>) {
  for (const condition of conditions) {
    const answer = condition(values);
    if (!answer.ok) return { fires: false, problem: answer.problem };
    if (typeof answer.value !== 'boolean') return { fires: false, problem: 'the condition gives no bool' };
    if (!answer.value) return { fires: false, problem: null };
  }
  return { fires: true, problem: null };
}

function keyOf(database: string, event: string): string {
  return `${database} ${event}`;
}
