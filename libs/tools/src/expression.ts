import { cachedByText, celEnvironment, compileCel, firstLine, isTooSlow } from './cel.js';

/** The variables of an expression. All values are plain JSON. */
export interface ExpressionValues {
  /** The parsed value if the text is JSON, otherwise the text itself. */
  readonly input: unknown;
  readonly text: string;
  readonly outputs: Readonly<Record<string, unknown>>;
  readonly inputs: Readonly<Record<string, unknown>>;
}

/** The value of an expression as plain JSON, or, as a clause, why it has none. */
export type ExpressionAnswer =
  { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly problem: string };

export type CompiledExpression =
  | { readonly ok: true; readonly evaluate: (values: ExpressionValues) => ExpressionAnswer }
  | { readonly ok: false; readonly problem: string };

/** Maximum size of the value of an expression: the characters of its texts, plus one for each member. */
export const MAX_EXPRESSION_SIZE = 4_194_304;
const deepest = 64;

const environment = celEnvironment()
  .registerVariable('input', 'dyn')
  .registerVariable('text', 'string')
  .registerVariable('outputs', 'map')
  .registerVariable('inputs', 'map')
  .registerFunction('list.joinTexts(string): string', joinTexts);

const compiled = cachedByText(compile);

/**
 * Compiles a CEL expression over `input`, `text`, `outputs` and `inputs`, with the limits of approval conditions and
 * `<list>.joinTexts(<separator>)`. A cache by source text keeps compiled expressions, and evicts the least recently used first.
 */
export function compileExpression(source: string): CompiledExpression {
  return compiled(source);
}

function compile(source: string): CompiledExpression {
  const program = compileCel(source, { environment, calls: ['joinTexts'], noun: 'expressions' });
  if (!program.ok) return program;
  return { ok: true, evaluate: (values) => answerOf(() => program.run({ ...values })) };
}

function answerOf(run: () => unknown): ExpressionAnswer {
  try {
    return { ok: true, value: new PlainValue().of(run(), 0) };
  } catch (error) {
    if (error instanceof Refusal) return { ok: false, problem: error.message };
    if (isTooSlow(error)) return { ok: false, problem: 'takes too long' };
    const cause = error instanceof Error && error.cause instanceof Refusal ? error.cause : null;
    return { ok: false, problem: cause?.message ?? `fails: ${firstLine(error)}` };
  }
}

class Refusal extends Error {}

function tooBig(): Refusal {
  return new Refusal(`gives something bigger than ${MAX_EXPRESSION_SIZE} characters`);
}

function joinTexts(list: readonly unknown[], separator: string): string {
  let length = 0;
  const texts = list.map((item) => {
    if (typeof item !== 'string') throw new Refusal('fails: joinTexts() needs a list of texts');
    length += item.length + separator.length;
    if (length > MAX_EXPRESSION_SIZE) throw tooBig();
    return item;
  });
  return texts.join(separator);
}

/** Converts a value of the language to plain JSON. It stops if the value grows too large: a list may contain one long text many times. */
class PlainValue {
  private size = 0;

  of(value: unknown, depth: number): unknown {
    this.grow(1);
    if (typeof value === 'string') return this.text(value);
    if (value === null || typeof value === 'boolean') return value;
    if (typeof value === 'number') return finite(value);
    if (typeof value === 'bigint') return finite(Number(value));
    if (depth === deepest) throw new Refusal(`gives something nested deeper than ${deepest} levels`);
    if (Array.isArray(value)) return value.map((item) => this.of(item, depth + 1));
    if (typeof value !== 'object') throw foreign();
    if (isUnsigned(value)) return finite(Number(value.value));
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype !== Object.prototype && prototype !== null) throw foreign();
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [this.text(name), this.of(member, depth + 1)] as const),
    );
  }

  private text(text: string): string {
    this.grow(text.length);
    return text;
  }

  private grow(by: number): void {
    this.size += by;
    if (this.size > MAX_EXPRESSION_SIZE) throw tooBig();
  }
}

/** Rejects whole numbers beyond 2^53, which JSON would change. */
function finite(value: number): number {
  const isKept = Number.isInteger(value) ? Math.abs(value) <= Number.MAX_SAFE_INTEGER : Number.isFinite(value);
  if (!isKept) throw new Refusal('fails: a number is one that JSON does not have');
  return value;
}

function foreign(): Refusal {
  return new Refusal('fails: it gives a type that JSON does not have');
}

function isUnsigned(value: object): value is { readonly value: bigint } {
  return value.constructor.name === 'UnsignedInt' && 'value' in value;
}
