import { canonicalJson } from './canonical-json.js';
import { parseArguments } from './parse-arguments.js';

/** The arguments of a call, as JSON text. */
interface DecidedCall {
  /** The arguments as the model proposed them. */
  readonly arguments: string;
  /** The approved arguments; null or absent: no approval was requested. */
  readonly approvedArguments?: string | null | undefined;
}

/** The arguments that a call ran with or will run with. */
interface RunArguments {
  readonly arguments: string;
  /** The arguments as the model proposed them, if a person edited them. */
  readonly proposedArguments: string | null;
}

/** Distinguishes an edit from an approval: equivalent JSON texts are the same arguments. Pure. */
export function runArguments({ arguments: proposed, approvedArguments }: DecidedCall): RunArguments {
  const run = approvedArguments ?? proposed;
  return { arguments: run, proposedArguments: run === proposed || isSame(run, proposed) ? null : proposed };
}

function isSame(text: string, other: string): boolean {
  const [one, two] = [parseArguments(text), parseArguments(other)];
  return one.ok && two.ok && canonicalJson(one.value) === canonicalJson(two.value);
}
