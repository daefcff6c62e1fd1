import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** The process's environment, read here and nowhere else. */
export function processEnvironment(): Readonly<Record<string, string | undefined>> {
  return process.env;
}

/** Adds the variables of the file `.env` in a folder, if there is one. A variable that is set already keeps its value. */
export function readEnvironmentFile(folder: string): void {
  const file = join(folder, '.env');
  if (existsSync(file)) process.loadEnvFile(file);
}
