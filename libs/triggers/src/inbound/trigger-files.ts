import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';

import { parse } from 'yaml';

import {
  assertDatabase,
  assertKnown,
  isJsonObject,
  type JsonFields,
  parseTrigger,
  type TriggerDefinition,
  TriggerProblem,
} from './trigger-definition.js';

export interface TriggerFile {
  readonly name: string;
  readonly text: string;
}

/** The load is refused; the message has the file and the reason. */
export class TriggerFileError extends Error {
  override readonly name = 'TriggerFileError';
}

const extensions = /\.(json|ya?ml)$/;
const maxFileBytes = 4 * 1_048_576;
const maxTriggers = 10_000;

/** Reads `path`: a file, or every `.json`, `.yml` and `.yaml` file directly in a directory, by name. Throws `TriggerFileError`. */
export async function readTriggerFiles(path: string): Promise<readonly TriggerFile[]> {
  try {
    const isDirectory = (await stat(path)).isDirectory();
    const names = isDirectory
      ? (await readdir(path, { withFileTypes: true }))
          .filter((entry) => !entry.isDirectory() && extensions.test(entry.name))
          .map(({ name }) => join(path, name))
          .sort()
      : [path];
    return await Promise.all(names.map(read));
  } catch (error) {
    if (error instanceof TriggerFileError) throw error;
    throw new TriggerFileError(`${path}: ${error instanceof Error ? error.message : 'cannot be read'}`);
  }
}

async function read(name: string): Promise<TriggerFile> {
  if ((await stat(name)).size > maxFileBytes) throw new TriggerFileError(`${name}: larger than ${maxFileBytes} bytes`);
  return { name, text: await readFile(name, 'utf8') };
}

/** The triggers of all files. One bad file refuses all of them: throws `TriggerFileError`. */
export function parseTriggerFiles(files: readonly TriggerFile[]): readonly TriggerDefinition[] {
  const databases = new Map<string, string>();
  const ids = new Map<string, string>();
  const all = files.flatMap(({ name, text }) => {
    try {
      const { database, triggers } = toTriggers(readDocument(name, text));
      if (database !== null) {
        const other = databases.get(database);
        if (other !== undefined)
          throw new TriggerProblem(
            `duplicate database definition: database ${JSON.stringify(database)} defined in both ${other} and ${name}`,
          );
        databases.set(database, name);
      }
      for (const trigger of triggers) assertUnique(ids, trigger, name);
      return triggers;
    } catch (error) {
      throw new TriggerFileError(`${name}: ${error instanceof Error ? error.message : 'cannot be read'}`);
    }
  });
  if (all.length > maxTriggers) throw new TriggerFileError(`more than ${maxTriggers} triggers`);
  return all;
}

function assertUnique(ids: Map<string, string>, { database, triggerId }: TriggerDefinition, file: string): void {
  const key = `${database}/${triggerId}`;
  const other = ids.get(key);
  if (other !== undefined) throw new TriggerProblem(`duplicate trigger id: ${triggerId} (also in ${other})`);
  ids.set(key, file);
}

function readDocument(name: string, text: string): unknown {
  return name.endsWith('.json') ? (JSON.parse(text) as unknown) : (parse(text, { maxAliasCount: 100 }) as unknown);
}

/** `database` is null in the old format, whose triggers name their own. */
function toTriggers(document: unknown): {
  readonly database: string | null;
  readonly triggers: readonly TriggerDefinition[];
} {
  if (Array.isArray(document)) return { database: null, triggers: document.map(parseListed) };
  if (!isJsonObject(document)) throw new TriggerProblem('a trigger file must be a list or an object');
  const { triggers } = document;
  assertKnown(document, Array.isArray(triggers) ? ['triggers'] : ['database', 'retryPolicy', 'triggers']);
  if (Array.isArray(triggers)) return { database: null, triggers: triggers.map(parseListed) };
  const { database } = document;
  if (typeof database !== 'string' || database.trim() === '')
    throw new TriggerProblem('database field cannot be empty');
  assertDatabase(database);
  if (triggers != null && !isJsonObject(triggers)) throw new TriggerProblem('triggers must be a map');
  return { database, triggers: Object.entries(triggers ?? {}).map((entry) => parseMapped(entry, database, document)) };
}

function parseListed(given: unknown): TriggerDefinition {
  return parseNamed(given, 'default');
}

function parseMapped(
  [triggerId, given]: readonly [string, unknown],
  database: string,
  { retryPolicy }: JsonFields,
): TriggerDefinition {
  if (!isJsonObject(given)) throw new TriggerProblem(`a trigger must be an object (trigger ${triggerId})`);
  const policy = given['retryPolicy'] == null ? { retryPolicy } : {};
  return parseNamed({ ...given, ...policy, triggerId, database }, database);
}

function parseNamed(given: unknown, database: string): TriggerDefinition {
  try {
    return parseTrigger(given, { database });
  } catch (error) {
    const id = isJsonObject(given) ? given['triggerId'] : undefined;
    if (!(error instanceof TriggerProblem) || typeof id !== 'string' || id === '') throw error;
    throw new TriggerProblem(`${error.message} (trigger ${id.slice(0, 200)})`);
  }
}
