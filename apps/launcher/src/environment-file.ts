import { statSync } from 'node:fs';
import { join } from 'node:path';

const OFF = ['false', 'off', '0'];

/**
 * Adds the variables of the file `.env` in a folder, if there is one, to the environment of this process and of those that it starts. A variable that is set
 * already keeps its value. READ_ENV_FILE=false reads nothing. Imports nothing of the server, because the command line calls it as well.
 */
export function readEnvironmentFile(folder: string): void {
  const file = join(folder, '.env');
  if (OFF.includes(process.env['READ_ENV_FILE']?.trim() ?? '')) return;
  if (statSync(file, { throwIfNoEntry: false })?.isFile() === true) process.loadEnvFile(file);
}
