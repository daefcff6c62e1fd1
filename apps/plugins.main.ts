import { createLogger, processEnvironment, systemClock } from '#platform';
import { assertTools, PluginRegistry } from '#tools';

/** The request of `nightshift plugins check`. */
interface CheckRequest {
  readonly path: string;
  readonly json: boolean;
}

/** Any interval works: the timer only keeps the process alive. */
const KEEP_ALIVE_MS = 60_000;

const { path, json } = JSON.parse(process.argv[2] ?? '{}') as CheckRequest; // the command line writes this JSON
setInterval(() => undefined, KEEP_ALIVE_MS); // a module that never ends keeps no process alive, so that its time limit would not be reached
try {
  const registry = await PluginRegistry.load({
    ...{ list: [path], workingDirectory: process.cwd(), withFolder: false },
    ...{ environment: processEnvironment(), clock: systemClock, logger: createLogger({ level: 'silent' }) },
  });
  assertTools(registry.list());
  for (const plugin of registry.shown()) {
    const { name, version, hash, ...offered } = plugin;
    const lists = Object.entries(offered).map(([kind, names]) => `  ${kind}: ${names.join(', ') || 'none'}\n`);
    process.stdout.write(json ? `${JSON.stringify(plugin)}\n` : `${name} ${version} ${hash}\n${lists.join('')}`);
  }
  await registry.onApplicationShutdown();
  process.exit(0); // code of the plugin may keep the process alive
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(2);
}
