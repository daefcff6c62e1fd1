import { createLogger, processEnvironment, systemClock } from '#platform';
import { assertTools, PluginRegistry, resolvePluginImports } from '#tools';

/** What `nightshift plugins check` asks for. */
interface CheckRequest {
  readonly path: string;
  readonly json: boolean;
}

const { path, json } = JSON.parse(process.argv[2] ?? '{}') as CheckRequest; // the command line wrote it
resolvePluginImports();
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
  process.exit(0); // code of a plugin may keep the process alive
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(2);
}
