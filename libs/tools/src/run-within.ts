import { createContext, Script } from 'node:vm';

const stage: { run: () => unknown } = { run: () => undefined };
const stageContext = createContext(stage);
const callStage = new Script('run()');

/**
 * Runs something synchronous where V8 itself stops it after `ms` of wall time: what strangers wrote cannot be trusted to look at a
 * clock. Throws what `run` throws, and an error with the code `ERR_SCRIPT_EXECUTION_TIMEOUT` when time is over. Not a sandbox.
 */
export function runWithin(ms: number, run: () => unknown): unknown {
  stage.run = run;
  try {
    const value: unknown = callStage.runInContext(stageContext, { timeout: ms });
    return value;
  } finally {
    stage.run = () => undefined;
  }
}
