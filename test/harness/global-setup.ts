import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { registerHooks } from 'node:module';

/**
 * Jest runs this file outside its module system, so Node itself must find the sources behind `./x.js`. Only what the
 * launcher needs is loaded here: no Prisma, no pg-boss.
 */
function loadSources(): void {
  registerHooks({
    resolve: (specifier, context, next) => {
      const isSource =
        specifier.startsWith('.') && specifier.endsWith('.js') && context.parentURL?.endsWith('.ts') === true;
      return next(
        isSource && context.parentURL !== undefined ? asSource(specifier, context.parentURL) : specifier,
        context,
      );
    },
  });
}

function asSource(specifier: string, parentUrl: string): string {
  const source = specifier.replace(/\.js$/, '.ts');
  return existsSync(new URL(source, parentUrl)) ? source : specifier;
}

/** Offers one Postgres to all spec files of the run; it starts when the first of them asks. */
export default async function globalSetup(): Promise<void> {
  loadSources();
  const { PostgresHost } = await import('./postgres-host.js');
  const host = await PostgresHost.listen(randomBytes(16).toString('hex'));
  process.env['NIGHTSHIFT_TEST_POSTGRES'] = host.address;
  Reflect.set(globalThis, 'nightshiftPostgresHost', host);
}
