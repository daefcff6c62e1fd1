import { canonicalJson } from './canonical-json.js';
import { parseArguments } from './parse-arguments.js';

/** The arguments of a call: JSON texts. */
interface DecidedCall {
  /** As the model proposed them. */
  readonly arguments: string;
  /** The approved arguments; null or absent: no approval was requested. */
  readonly approvedArguments?: string | null | undefined;
}

/** What a call was run with, or is going to be. */
interface RunArguments {
  readonly arguments: string;
  /** What the model had proposed, where a person made something else of it. */
  readonly proposedArguments: string | null;
}

/** Distinguishes an edit from an approval: texts with equal meaning in any notation are the same arguments. Pure. */
export function runArguments({ arguments: proposed, approvedArguments }: DecidedCall): RunArguments {
  const run = approvedArguments ?? proposed;
  return { arguments: run, proposedArguments: run === proposed || isSame(run, proposed) ? null : proposed };
}

function isSame(text: string, other: string): boolean {
  const [one, two] = [parseArguments(text), parseArguments(other)];
  return one.ok && two.ok && canonicalJson(one.value) === canonicalJson(two.value);
}
