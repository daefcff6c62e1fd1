import { cachedByText, celEnvironment, compileCel, isTooSlow, LOOP_STOP_MS, MAX_CEL_LENGTH } from '#tools';

/** The variables of a condition. All values are plain JSON. */
export interface ConditionContext {
  readonly tool: string;
  readonly arguments: unknown;
  readonly agent: string | null;
  readonly principal: { readonly id: string; readonly role: string | null; readonly userId: string | null };
}

/** The result of a condition, or why it has none. The caller treats both failures as "require approval". */
export type ConditionResult = 'true' | 'false' | 'failed' | 'too_slow';

/** A compiled condition. `cpuMs` is the CPU time of the evaluation. */
export type Condition = (context: ConditionContext) => { readonly answer: ConditionResult; readonly cpuMs: number };

export type CompiledCondition =
  { readonly ok: true; readonly condition: Condition } | { readonly ok: false; readonly problem: string };

export const MAX_CONDITION_LENGTH = MAX_CEL_LENGTH;
/** Maximum CPU time of one evaluation, in ms. A slower evaluation has no result. */
const slowMs = 5;

const environment = celEnvironment()
  .registerVariable('tool', 'string')
  .registerVariable('arguments', 'map')
  .registerVariable('agent', 'dyn')
  .registerVariable('principal', 'map');

const compiled = cachedByText(compile);

/**
 * Compiles a CEL expression over `tool`, `arguments`, `agent` and `principal`. Rejects an expression that does not parse or type-check, is
 * not a bool, or calls a function that `compileCel` does not offer; `problem` states the reason in a clause. A cache by source text keeps
 * compiled conditions, and evicts the least recently used first.
 */
export function compileCondition(source: string): CompiledCondition {
  return compiled(source);
}

function compile(source: string): CompiledCondition {
  const program = compileCel(source, { environment, noun: 'conditions' });
  if (!program.ok) return program;
  const { type, run } = program;
  if (type !== 'bool' && type !== 'dyn') return { ok: false, problem: `gives ${type} where a bool is needed` };
  return { ok: true, condition: timed((context) => run({ ...context })) };
}

/** A garbage collection or a first run can make an expression slow, so an evaluation that was too slow is tried once more. */
function timed(run: (context: ConditionContext) => unknown): Condition {
  const once = (context: ConditionContext): ReturnType<Condition> => {
    const start = process.threadCpuUsage();
    const answer = answerOf(run, context);
    const { user, system } = process.threadCpuUsage(start);
    const cpuMs = (user + system) / 1_000;
    return { answer: cpuMs > slowMs ? 'too_slow' : answer, cpuMs };
  };
  return (context) => {
    const first = once(context);
    return first.answer === 'too_slow' && first.cpuMs < LOOP_STOP_MS / 2 ? once(context) : first;
  };
}

function answerOf(run: (context: ConditionContext) => unknown, context: ConditionContext): ConditionResult {
  try {
    const value = run(context);
    return value === true ? 'true' : value === false ? 'false' : 'failed';
  } catch (error) {
    return isTooSlow(error) ? 'too_slow' : 'failed';
  }
}
