import { toStorableText } from '#platform';
import { cachedByText, celEnvironment, compileCel, typeNames, variableOfType } from '#tools';

/** A change of a document, or the delivery of a webhook (`type: 'webhook'`, with the body as its document). */
export interface TriggerEvent {
  readonly type: 'create' | 'update' | 'delete' | 'webhook';
  /** Ms since the epoch. */
  readonly timestamp: number;
  /** `collection/documentId`. */
  readonly path: string;
  readonly document: Readonly<Record<string, unknown>> | null;
  readonly before: Readonly<Record<string, unknown>> | null;
}

/** The variables that expressions see: `event`, and every field of the document under its own name. */
export type TriggerValues = Readonly<Record<string, unknown>>;

/** The value of an expression, or a clause that says why it has none. */
export type TriggerValue =
  { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly problem: string };

export type TriggerExpression = (values: TriggerValues) => TriggerValue;

export type CompiledExpression =
  { readonly ok: true; readonly evaluate: TriggerExpression } | { readonly ok: false; readonly problem: string };

const limits = { steps: 10_000, cpuMs: 5 };

const environment = celEnvironment({ anyName: true }).registerVariable('event', 'dyn');
/** A field such as `type` takes precedence over the type of this name. */
const types: Readonly<Record<string, unknown>> = Object.fromEntries(
  typeNames.map((name) => [variableOfType(name), environment.evaluate(name) as unknown]),
);
const compiled = cachedByText(compile);

/** Compiles a condition, whose value must be a bool. Compiled conditions are cached by their text; the least recently used are dropped first. */
export function compileCondition(source: string): CompiledExpression {
  const expression = compileExpression(source);
  if (!expression.ok) return expression;
  const { type } = expression;
  if (type !== undefined && type !== 'bool' && type !== 'dyn')
    return { ok: false, problem: `gives ${type} where a bool is needed` };
  return expression;
}

/** Compiles an expression of any type: a condition, or a part of an input mapping. */
export function compileExpression(source: string): CompiledExpression & { readonly type?: string } {
  return compiled(source);
}

function compile(source: string): CompiledExpression & { readonly type?: string } {
  const program = compileCel(source, { environment, noun: 'triggers', limits, typesAreVariables: true });
  if (!program.ok) return program;
  const { run, type } = program;
  return { ok: true, type, evaluate: (values) => valueOf(run, values) };
}

function valueOf(run: (values: TriggerValues) => unknown, values: TriggerValues): TriggerValue {
  try {
    return { ok: true, value: run(values) };
  } catch (error) {
    return { ok: false, problem: error instanceof Error ? firstLine(error.message) : 'failed' };
  }
}

function firstLine(message: string): string {
  return toStorableText((message.split('\n')[0] ?? '').slice(0, 200)); // the message is stored, and may quote the expression or the document
}

/**
 * The variables of an event. A field is read as `role`, `event.document.role` or `event.document.data.role`; for deletes the bare names are
 * those of `before`. A field `data` that is a map is merged into `data`.
 */
export function valuesOf({ document, before, ...event }: TriggerEvent): TriggerValues {
  const shown = withData(document);
  const old = withData(before);
  // Without a prototype, as the language needs it: one object serves all triggers of the event.
  const values = Object.create(null) as Record<string, unknown>;
  const fields = event.type === 'delete' ? old : shown;
  const typed = typeNames.filter((name) => fields !== null && Object.hasOwn(fields, name));
  const named = Object.fromEntries(typed.map((name) => [variableOfType(name), fields?.[name]]));
  Object.assign(values, types, fields, named, {
    event: { ...event, document: shown, before: old },
  });
  return values;
}

const ownFields: ReadonlySet<string> = new Set(['id', 'collection', 'version']);

function withData(document: TriggerEvent['document']): Readonly<Record<string, unknown>> | null {
  if (document === null) return null;
  const fields = Object.fromEntries(Object.entries(document).filter(([name]) => !ownFields.has(name)));
  const own = fields['data'];
  const isMap = typeof own === 'object' && own !== null && !Array.isArray(own);
  return { ...document, data: isMap ? { ...fields, ...own } : fields };
}
