import { connect } from 'node:net';

import pg from 'pg';

import { type DatabaseUrls, databaseUrls, migrate, Postgres, PrismaService } from '#platform';

/** A migrated database of one spec file, with the roles and row-level security of production. */
export interface TestDatabase {
  readonly name: string;
  readonly urls: DatabaseUrls;
  readonly postgres: Postgres;
  readonly prisma: PrismaService;
  /** Drops the database. Call it in `afterAll`; may be called again. */
  close(): Promise<void>;
}

/** NIGHTSHIFT_SECRET of every process that works on a test database. */
export const TEST_SECRET = 'the secret of the test databases';
const TEMPLATE = 'nightshift_template';
const LOCK = 7_000_001;

/**
 * Clones the migrated template (30-80 ms) by copying its files, which takes less of a core than a copy through the shared buffers. NOTIFY and
 * advisory locks are per database: spec files do not meet.
 */
export async function createTestDatabase(options: { readonly poolSize?: number } = {}): Promise<TestDatabase> {
  const serverUrl = await testServerUrl();
  const name = `spec_${process.env['JEST_WORKER_ID'] ?? '0'}_${Date.now().toString(36)}_${process.hrtime.bigint().toString(36)}`;
  await asAdmin(serverUrl, async (admin) => {
    await ensureTemplate(admin, serverUrl);
    await admin.query(`CREATE DATABASE ${name} TEMPLATE ${TEMPLATE} STRATEGY file_copy`);
  });
  const urls = urlsOf(serverUrl, name);
  const postgres = Postgres.connect(urls, { poolSize: options.poolSize ?? 10 });
  const prisma = new PrismaService(postgres);
  let closing: Promise<void> | undefined;
  const close = async () => {
    await prisma.close();
    await postgres.close();
    await dropTestDatabase(name);
  };
  return { name, urls, postgres, prisma, close: () => (closing ??= close()) };
}

/** An empty database, to test the migrations. Drop it with `dropTestDatabase`. */
export async function createEmptyDatabase(name: string, owner = 'postgres'): Promise<DatabaseUrls> {
  const serverUrl = await testServerUrl();
  await asAdmin(serverUrl, (admin) => admin.query(`CREATE DATABASE ${name} OWNER ${owner}`));
  return urlsOf(serverUrl, name);
}

export async function dropTestDatabase(name: string): Promise<void> {
  await asAdmin(await testServerUrl(), (admin) => admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`));
}

/** The superuser's url of the run's server (database `postgres`); the first call starts it. */
export async function testServerUrl(): Promise<string> {
  const [port, token] = (process.env['NIGHTSHIFT_TEST_POSTGRES'] ?? '').split(':');
  if (port === undefined || token === undefined)
    throw new Error('run this file with Jest: its global setup offers Postgres');
  const answer = await new Promise<string>((resolve, reject) => {
    let text = '';
    const socket = connect(Number(port), '127.0.0.1', () => socket.write(`${token}\n`));
    socket.on('error', reject);
    socket.on('data', (chunk) => (text += chunk.toString()));
    socket.on('end', () => {
      resolve(text);
    });
  });
  if (!answer.startsWith('postgres:')) throw new Error(`the test server did not start: ${answer}`);
  return answer;
}

/** One spec file migrates, the others wait; the name appears only when the template is complete. */
async function ensureTemplate(admin: pg.Client, serverUrl: string): Promise<void> {
  await admin.query('SELECT pg_advisory_lock($1)', [LOCK]);
  try {
    const found = await admin.query('SELECT 1 FROM pg_database WHERE datname = $1', [TEMPLATE]);
    if (found.rowCount === 1) return;
    await admin.query(`DROP DATABASE IF EXISTS ${TEMPLATE}_new WITH (FORCE)`);
    await admin.query(`CREATE DATABASE ${TEMPLATE}_new`);
    await migrate(urlsOf(serverUrl, `${TEMPLATE}_new`));
    await admin.query(`ALTER DATABASE ${TEMPLATE}_new RENAME TO ${TEMPLATE}`);
  } finally {
    await admin.query('SELECT pg_advisory_unlock($1)', [LOCK]);
  }
}

function urlsOf(serverUrl: string, database: string): DatabaseUrls {
  const url = new URL(serverUrl);
  url.pathname = `/${database}`;
  return databaseUrls(url.toString(), TEST_SECRET);
}

async function asAdmin<T>(serverUrl: string, run: (admin: pg.Client) => Promise<T>): Promise<T> {
  const admin = new pg.Client({ connectionString: serverUrl, connectionTimeoutMillis: 10_000 });
  await admin.connect();
  try {
    return await run(admin);
  } finally {
    await admin.end();
  }
}
