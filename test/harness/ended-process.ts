import { spawn } from 'node:child_process';
import { once } from 'node:events';

import { processName } from '#platform';

/** The name of a process that has ended. */
export async function endedProcess(): Promise<string> {
  const child = spawn('sleep', ['1000'], { stdio: 'ignore' });
  await once(child, 'spawn');
  const name = processName(child.pid);
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
  return name;
}
