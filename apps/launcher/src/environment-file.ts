import { statSync } from 'node:fs';
import { join } from 'node:path';

const OFF = ['false', 'off', '0'];

/**
 * Adds the variables of the file `.env` in a folder, if it exists, to the environment of this process and of its child processes. A
 * variable that is already set keeps its value. READ_ENV_FILE=false disables this. The module imports nothing of the server, because the
 * command line calls it too.
 */
export function readEnvironmentFile(folder: string): void {
  const file = join(folder, '.env');
  if (OFF.includes(process.env['READ_ENV_FILE']?.trim() ?? '')) return;
  if (statSync(file, { throwIfNoEntry: false })?.isFile() === true) process.loadEnvFile(file);
}
