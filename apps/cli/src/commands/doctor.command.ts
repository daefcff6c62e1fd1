import type { Command } from 'commander';

import type { Context } from '../context.js';
import type { Check } from '../doctor/check.js';
import { runChecks } from '../doctor/run-checks.js';
import { type ExitCode, exitCodes } from '../exit-code.js';
import { oneLine } from '../terminal/plain-text.js';
import type { Style } from '../terminal/screen.js';
import type { Perform } from './perform.js';

interface DoctorFlags {
  readonly job?: boolean;
}

/** `doctor`: checks the setup, and prints how to fix what it finds. */
export function addDoctor(program: Command, perform: Perform): void {
  program
    .command('doctor')
    .summary('check the setup')
    .description(
      'Checks this machine, the connection to the server, the server, and the rights of the credential. With --job it also runs one job, which needs the queue, a worker and the model. Exit code 1: a check failed; 3: credential; 4: workspace; 5: network.',
    )
    .option('--job', 'also run a job')
    .action((flags: DoctorFlags) => perform((context) => doctor(context, flags)));
}

const signs: Readonly<Record<Check['state'], readonly [string, Style]>> = {
  ok: ['✓', 'green'],
  warning: ['!', 'yellow'],
  failed: ['✗', 'red'],
  unknown: ['–', 'dim'],
};
const NAME_WIDTH = 11;

async function doctor(context: Context, { job = false }: DoctorFlags): Promise<ExitCode> {
  const { screen, json, emit } = context;
  let exitCode: ExitCode = exitCodes.ok;
  for await (const check of runChecks(context, { withJob: job })) {
    if (check.state === 'failed' && exitCode === exitCodes.ok) exitCode = check.exitCode ?? exitCodes.failed;
    if (json) {
      const { name, state, detail, remedy } = check;
      emit({ check: name, state, detail, remedy: remedy ?? null });
      continue;
    }
    const [sign, style] = signs[check.state];
    screen.line(
      `${screen.ink(style, sign)} ${screen.ink('bold', check.name.padEnd(NAME_WIDTH))} ${oneLine(check.detail)}`,
    );
    for (const line of check.remedy?.split('\n') ?? [])
      screen.line(`  ${' '.repeat(NAME_WIDTH)} ${screen.ink('cyan', `→ ${oneLine(line)}`)}`);
  }
  return exitCode;
}
