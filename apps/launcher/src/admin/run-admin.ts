import { z } from 'zod';

import {
  type FeatureFlag,
  KEY_SCOPES,
  openAuth,
  OperatorDirectory,
  OperatorFlags,
  type OperatorService,
  ROLES,
  ROLLOUT_UNITS,
  TOKEN_CLAIMS,
} from '#auth';
import { AppError, Config, ConfigError, createLogger, defined, openPlatform, Redactor, Secret } from '#platform';

import { fetchKeys } from '../fetch-keys.js';
import { openAdmin } from './open-admin.js';

const ids = z.array(z.string());
const changes = z.strictObject({
  name: z.string(),
  description: z.string().optional(),
  defaultOn: z.boolean().optional(),
  rolloutPercent: z.number().optional(),
  rolloutBy: z.enum(ROLLOUT_UNITS).optional(),
  ...{ allow: ids, deny: ids, unlist: ids },
});

/** The requests of `nightshift admin flags`. */
const flagRequests = [
  z.strictObject({ command: z.literal('flags list') }),
  z.strictObject({ command: z.literal('flags set'), changes }),
  z.strictObject({ command: z.literal('flags remove'), name: z.string() }),
  z.strictObject({ command: z.literal('flags history'), name: z.string() }),
] as const;

const role = z.enum(ROLES);
const workspace = z.string();
const email = z.string();

/** The requests of `nightshift admin`: one JSON object, which the command line creates from its arguments. */
const request = z.discriminatedUnion('command', [
  z.strictObject({ command: z.literal('workspaces list') }),
  z.strictObject({ command: z.literal('workspaces create'), name: z.string(), owner: email }),
  z.strictObject({ command: z.literal('users list') }),
  z.strictObject({ command: z.literal('users create'), email, name: z.string().optional() }),
  z.strictObject({ command: z.literal('members list'), workspace }),
  z.strictObject({ command: z.literal('members add'), workspace, email, role }),
  z.strictObject({ command: z.literal('members role'), workspace, email, role }),
  z.strictObject({ command: z.literal('members remove'), workspace, email }),
  z.strictObject({ command: z.literal('keys list'), workspace }),
  z.strictObject({
    command: z.literal('keys create'),
    ...{ workspace, email, name: z.string(), scopes: z.array(z.enum(KEY_SCOPES)).min(1) },
    expiresAt: z.number().optional(),
  }),
  z.strictObject({ command: z.literal('keys revoke'), workspace, key: z.string() }),
  ...flagRequests,
  z.strictObject({ command: z.literal('secret rotate') }),
  z.strictObject({ command: z.literal('tools-key') }),
  z.strictObject({ command: z.literal('token') }),
]);

type AdminRequest = z.infer<typeof request>;

/** Throws `ZodError` for a request that the command line of this build does not send. */
function parseAdminRequest(text: string): AdminRequest {
  return request.parse(JSON.parse(text));
}

/** The input from the entry point. */
export interface AdminInit {
  /** The request, as JSON, and the data directory, if one was named. */
  readonly words: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly print: (line: string) => void;
  readonly printError: (line: string) => void;
}

/**
 * Serves one `nightshift admin` command: prints its result as one line of JSON, or `{ error: { code, message } }` on the other
 * stream. Resolves with the exit code: 0 done, 1 failed, 2 wrong settings.
 */
export async function runAdmin({ words, environment, print, printError }: AdminInit): Promise<number> {
  const [text = '', dataDir] = words;
  try {
    const request = parseAdminRequest(text);
    const config = Config.from({ ...environment, ...defined({ DATA_DIR: dataDir }) });
    print(JSON.stringify(await serve(request, config)));
    return 0;
  } catch (error) {
    const isSettings = error instanceof ConfigError;
    if (!isSettings && !(error instanceof AppError)) throw error;
    printError(JSON.stringify({ error: { code: isSettings ? 'usage' : error.code, message: error.message } }));
    return isSettings ? 2 : 1;
  }
}

async function serve(request: AdminRequest, config: Config): Promise<unknown> {
  if (request.command === 'token') return describeToken(config);
  await using cleanUp = new AsyncDisposableStack();
  if (request.command === 'secret rotate' || request.command === 'tools-key') {
    // Loaded on demand: it imports most of the server, which takes 0.6 s of CPU time, and other commands do not need it.
    const { rotateSecret, toolsAccess } = await import('./sealed-secrets.js');
    if (request.command === 'tools-key') return await toolsAccess(config, cleanUp);
    return { columns: await rotateSecret(config, cleanUp) };
  }
  const { urls, secret, previousSecrets } = await openAdmin(config, cleanUp);
  if (isFlagRequest(request)) return await changeFlags(request, urls.owner);
  const redactor = new Redactor([new Secret(secret)]);
  const logger = createLogger({ level: 'warn', redact: (line) => redactor.everything.redact(line) });
  // The bus tells the serving processes that rights have changed.
  const own = config.with({ BUS: 'postgres', DATABASE_POOL_SIZE: 2 });
  const platform = await openPlatform({ config: own, logger, redactor, urls, secret, previousSecrets });
  cleanUp.defer(() => platform.close());
  const { prisma, bus } = platform;
  const auth = openAuth({ config, prisma, bus, secret, previousSecrets, fetchKeys });
  cleanUp.defer(() => {
    auth.close();
  });
  const directory = await OperatorDirectory.connect(urls.owner);
  cleanUp.defer(() => directory.close());
  return await perform(request, auth.operator(directory));
}

type FlagRequest = Extract<AdminRequest, { command: `flags ${string}` }>;
type OperatorRequest = Exclude<AdminRequest, FlagRequest | { command: 'token' | 'secret rotate' | 'tools-key' }>;

function isFlagRequest(request: Exclude<AdminRequest, { command: 'token' }>): request is FlagRequest {
  return request.command.startsWith('flags ');
}

async function perform(request: OperatorRequest, operator: OperatorService): Promise<unknown> {
  switch (request.command) {
    case 'workspaces list':
      return operator.listWorkspaces();
    case 'workspaces create': {
      const { name, owner } = request;
      return operator.createWorkspace({ name, owner });
    }
    case 'users list':
      return operator.listUsers();
    case 'users create': {
      const { email, name } = request;
      return operator.createUser({ email, name });
    }
    case 'keys list':
      return operator.listKeys(request.workspace);
    case 'keys create': {
      const { email, name, scopes, expiresAt } = request;
      const { key, text } = await operator.createKey(request.workspace, { email, name, scopes, expiresAt });
      return { ...key, secret: text };
    }
    case 'keys revoke':
      return operator.revokeKey(request.workspace, request.key);
    case 'members list':
    case 'members add':
    case 'members role':
    case 'members remove':
      return changeMembers(request, operator);
  }
}

type MemberRequest = Extract<OperatorRequest, { command: `members ${string}` }>;

async function changeMembers(request: MemberRequest, operator: OperatorService): Promise<unknown> {
  switch (request.command) {
    case 'members list':
      return operator.listMembers(request.workspace);
    case 'members add': {
      const { email, role } = request;
      return operator.addMember(request.workspace, { email, role });
    }
    case 'members role': {
      const { email, role } = request;
      return operator.changeRole(request.workspace, { email, role });
    }
    case 'members remove':
      return operator.removeMember(request.workspace, request.email);
  }
}

/** The requirements of a token of this installation, from its settings. Contains no secret. */
function describeToken({ values }: Config): object {
  const { JWT_SECRET, JWT_JWKS_URL, JWT_ALGORITHMS, JWT_ISSUER, JWT_AUDIENCE } = values;
  const algorithms = [
    ...(JWT_SECRET === undefined ? [] : ['HS256']),
    ...(JWT_JWKS_URL === undefined ? [] : JWT_ALGORITHMS),
  ];
  const required = new Set<string>(['iss', 'sub', 'exp', ...(JWT_AUDIENCE === undefined ? [] : ['aud'])]);
  return {
    accepted: algorithms.length > 0,
    algorithms,
    keys: [
      ...(JWT_SECRET === undefined ? [] : ['JWT_SECRET (shared secret)']),
      ...(JWT_JWKS_URL === undefined ? [] : [JWT_JWKS_URL]),
    ],
    issuer: JWT_ISSUER ?? null,
    audience: JWT_AUDIENCE ?? null,
    claims: TOKEN_CLAIMS.map(({ claim, meaning }) => ({ claim, required: required.has(claim), meaning })),
    example: {
      iss: JWT_ISSUER ?? 'https://login.example.com',
      ...defined({ aud: JWT_AUDIENCE }),
      sub: 'user-1234',
      exp: 1_900_000_000,
      email: 'ada@example.com',
      email_verified: true,
      name: 'Ada',
    },
  };
}

/** Serves one command. Throws the errors of `OperatorFlags`. */
async function changeFlags(request: FlagRequest, ownerUrl: string): Promise<unknown> {
  const flags = OperatorFlags.connect(ownerUrl);
  try {
    return await performOnFlags(request, flags);
  } finally {
    await flags.close();
  }
}

async function performOnFlags(request: FlagRequest, flags: OperatorFlags): Promise<unknown> {
  switch (request.command) {
    case 'flags list':
      return (await flags.list()).map(shown);
    case 'flags set':
      return shown(await flags.set(request.changes));
    case 'flags remove':
      return flags.remove(request.name);
    case 'flags history': {
      const entries = await flags.history(request.name);
      return entries.map(({ at, ...change }) => ({ ...change, at: new Date(at).toISOString() }));
    }
  }
}

function shown({ defaultOn, ...flag }: FeatureFlag): object {
  return { ...flag, default: defaultOn ? 'on' : 'off' };
}
