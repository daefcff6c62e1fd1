import { spawn } from 'node:child_process';
import { once } from 'node:events';

import type { AttackTarget } from './attack.js';

/** Runs the attack `name` in a process of its own and resolves with its outcomes; the process is killed 20 s after its time. */
export async function runAttacker(name: string, { url, apiKey }: AttackTarget, seconds: number): Promise<string> {
  const main = new URL('attacker.main.js', import.meta.url);
  const child = spawn(process.execPath, [main.pathname, name, url, apiKey, String(seconds)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  const deadline = setTimeout(() => child.kill('SIGKILL'), (seconds + 20) * 1_000);
  await once(child, 'close');
  clearTimeout(deadline);
  return output.trim() || 'the attacker failed';
}
