import { spawn } from 'node:child_process';
import { once } from 'node:events';

import { processName } from '#platform';

/** What a process was called that has ended by now. */
export async function endedProcess(): Promise<string> {
  const child = spawn('sleep', ['1000'], { stdio: 'ignore' });
  await once(child, 'spawn');
  const name = processName(child.pid);
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
  return name;
}
