import { z } from 'zod';

import { AppError, problemInWords, toStorable } from '#platform';

const text = (max: number) => z.string().trim().min(1).max(max);
/** The name of a secret of the workspace. */
const secretName = z.string().regex(/^[A-Za-z]\w{0,63}$/, 'must be the name of a secret of the workspace');

const settings = z.strictObject({
  baseUrl: z
    .url({ protocol: /^https?$/ })
    .max(2_048)
    .default('http://localhost:8080'),
  apiStyle: z.enum(['v1', 'databases']).default('v1'),
  database: z
    .string()
    .regex(/^[\w-]{1,128}$/, 'must be 1 to 128 letters, digits, "_" and "-"')
    .default('default'),
  auth: z.enum(['none', 'preissued', 'token']).default('none'),
  secret: secretName.nullable().default(null),
  token: secretName.nullable().default(null),
  model: text(200).nullable().default(null),
  tools: z.array(text(64)).max(100).default([]),
  systemPrompt: z.string().max(20_000).nullable().default(null),
  toolCollection: z
    .string()
    .regex(/^[\w-]{1,64}$/, 'must be 1 to 64 letters, digits, "_" and "-"')
    .default('toolcall'),
  maxToolCalls: z.int().min(0).max(1_000).default(5),
  maxToolCallsScope: z.enum(['history', 'turn']).default('history'),
  rateLimit: z.int().min(1).max(10_000).nullable().default(null),
});

/** How a connection reaches its database, and how its chats are answered. */
export type SyntrixSettings = z.output<typeof settings>;

/** A Syntrix database whose chats a workspace answers. */
export interface SyntrixConnection {
  readonly workspaceId: string;
  readonly id: string;
  readonly name: string;
  readonly settings: SyntrixSettings;
  /** The principal of its jobs: the member or key that saved it last. */
  readonly createdBy: string;
  /** The user who owns its jobs and threads: the one who saved it first. Null: unknown, so the user of `createdBy`. */
  readonly owner: string | null;
  /** In ms since the epoch, as is `updatedAt`. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** A connection to be saved; settings that are absent have their defaults. */
export interface SavedSyntrixConnection {
  readonly name: string;
  readonly settings: object;
}

const input = z.strictObject({ name: z.string().regex(/^[a-zA-Z0-9_-]{1,128}$/), settings });

/** Throws `bad_request` with the field. */
export function parseConnection({ name, settings: given }: SavedSyntrixConnection): {
  readonly name: string;
  readonly settings: SyntrixSettings;
} {
  const present = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const parsed = input.safeParse({ name, settings: present }, { error: problemInWords });
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const field = String(issue?.path.at(-1) ?? 'settings');
    throw invalid(field, issue?.message ?? 'is invalid');
  }
  const { auth, token } = parsed.data.settings;
  if (auth === 'token' && token === null) throw invalid('token', 'is required with auth TOKEN');
  if (auth === 'none' && token !== null) throw invalid('token', 'must be absent with auth NONE');
  const unstorable = Object.entries(parsed.data.settings).find(([field, value]) => !isStorable(field, value));
  if (unstorable !== undefined) throw invalid(unstorable[0], 'contains characters that cannot be stored');
  return parsed.data;
}

function isStorable(field: string, value: unknown): boolean {
  return JSON.stringify(toStorable(value, field)) === JSON.stringify(value);
}

function invalid(field: string, problem: string): AppError {
  return new AppError({ code: 'bad_request', message: `${field} ${problem}`, field });
}

/** The guard allows no request to this URL. */
export function baseUrlRefused(why: string): AppError {
  return new AppError({ code: 'bad_request', message: `baseUrl: ${why}`, field: 'baseUrl' });
}

/** Absent and forbidden look the same. */
export function connectionNotFound(): AppError {
  return new AppError({ code: 'not_found', message: 'Syntrix connection not found or unauthorized' });
}

/** The cap keeps lists short. */
export function tooManyConnections(limit: number): AppError {
  const message = `A workspace can have ${limit} Syntrix connections. Delete one first.`;
  return new AppError({ code: 'conflict', message });
}

/**
 * A delivery to a name is verified against at most a fixed number of connections, so one more connection with this name would never receive a
 * delivery.
 */
export function nameOfTooMany(name: string): AppError {
  const message = `Too many workspaces use the connection name "${name}". Choose another name; deliveries can go to the id of the connection.`;
  return new AppError({ code: 'conflict', message, field: 'name' });
}
