// Proves that prisma/schema.prisma and prisma/migrations agree. Exit 0: they do; 1: prints the SQL that is missing.
// Uses Prisma's schema engine as WebAssembly, so that nothing has to be downloaded. `DATABASE_URL` names a server on
// which an empty scratch database may be created; without it an embedded Postgres is started for the moment.
// `--schema FILE` compares another schema.
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { PrismaPg } from '@prisma/adapter-pg';
import { bindMigrationAwareSqlAdapterFactory, ColumnTypeEnum } from '@prisma/driver-adapter-utils';
import { SchemaEngine } from '@prisma/schema-engine-wasm';

import { bootstrap } from './bootstrap.mjs';

const CHAR = 18;
const TEXT = 25;

/** adapter-pg 7.10.0 cannot read "char" columns, splits scripts at each `;`, and takes the named database as its shadow. */
class ScratchPg extends PrismaPg {
  async connect() {
    const adapter = await super.connect();
    let chars = [];
    const io = adapter.performIO.bind(adapter);
    const raw = adapter.queryRaw.bind(adapter);
    adapter.performIO = async (query) => {
      const result = await io(query);
      chars = result.fields.flatMap((field, i) => (field.dataTypeID === CHAR ? [i] : []));
      for (const i of chars) result.fields[i].dataTypeID = TEXT;
      return result;
    };
    adapter.queryRaw = async (query) => {
      const result = await raw(query);
      for (const i of chars) result.columnTypes[i] = ColumnTypeEnum.Character;
      return result;
    };
    adapter.executeScript = async (sql) => {
      await adapter.underlyingDriver().query(sql);
    };
    return adapter;
  }
  connectToShadowDb() {
    return this.connect();
  }
}

const root = join(fileURLToPath(import.meta.url), '..', '..');

function readMigrations(directory = join(root, 'prisma', 'migrations')) {
  return (
    readdirSync(directory, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      // The scratch database runs each file as one script, in which no index can be built concurrently.
      .map(({ name }) => ({
        name,
        sql: readFileSync(join(directory, name, 'migration.sql'), 'utf8').replaceAll(' CONCURRENTLY', ''),
      }))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
  );
}

/** `exitCode` 0: schema and migrations agree; 2: `stdout` is the missing migration. */
async function diffMigrations({ scratchUrl, schema, migrations }) {
  const engine = await SchemaEngine.new(
    { datamodels: [['schema.prisma', schema]] },
    () => {},
    bindMigrationAwareSqlAdapterFactory(new ScratchPg({ connectionString: scratchUrl })),
  );
  return engine.diff({
    script: true,
    exitCode: true,
    shadowDatabaseUrl: null,
    filters: { externalTables: [], externalEnums: [] },
    to: { tag: 'schemaDatamodel', files: [{ path: 'schema.prisma', content: schema }] },
    from: {
      tag: 'migrations',
      baseDir: 'prisma/migrations',
      lockfile: { path: 'migration_lock.toml', content: 'provider = "postgresql"\n' },
      shadowDbInitScript: '',
      migrationDirectories: migrations.map(({ name, sql }) => ({
        path: name,
        migrationFile: { path: 'migration.sql', content: { tag: 'ok', value: sql } },
      })),
    },
  });
}

async function withScratchDatabase(serverUrl, use) {
  const name = `nightshift_drift_${randomBytes(4).toString('hex')}`;
  const admin = await new ScratchPg({ connectionString: serverUrl }).connect();
  try {
    await admin.executeScript(`CREATE DATABASE ${name}`);
    const scratchUrl = new URL(serverUrl);
    scratchUrl.pathname = `/${name}`;
    return await use(scratchUrl.toString());
  } finally {
    await admin.executeScript(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    await admin.dispose();
  }
}

/** The server of DATABASE_URL, or one that lives as long as `use`. */
async function withServer(use) {
  if (process.env.DATABASE_URL) return use(process.env.DATABASE_URL);
  await bootstrap({ say: (text) => process.stderr.write(text) });
  const { EmbeddedPostgres } = await import('../dist/libs/platform/src/index.js');
  const dataDir = mkdtempSync(join(tmpdir(), 'nightshift-drift-'));
  chmodSync(dataDir, 0o755);
  const server = await EmbeddedPostgres.start({ dataDir });
  try {
    return await use(server.url);
  } finally {
    await server.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: { schema: { type: 'string', default: join(root, 'prisma', 'schema.prisma') } },
  });
  const schema = readFileSync(values.schema, 'utf8');
  const result = await withServer((serverUrl) =>
    withScratchDatabase(serverUrl, (scratchUrl) =>
      diffMigrations({ scratchUrl, schema, migrations: readMigrations() }),
    ),
  );
  process.stdout.write(result.exitCode === 0 ? 'schema and migrations agree\n' : `${result.stdout}\n`);
  process.exit(result.exitCode === 0 ? 0 : 1);
}
