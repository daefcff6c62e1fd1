import { registerHooks } from 'node:module';

/** Packages of the server that a plugin may import without an installation of its own. */
const SHARED: ReadonlySet<string> = new Set(['@nightshift/plugin', 'zod']);
const VERSION = /\?(plugin=[0-9a-f]{16})$/;

/** Marks the modules of one version of a plugin, as the query of their URLs. */
export function versionOf(hash: string): string {
  return `plugin=${hash.slice(0, 16)}`;
}

let isRegistered = false;

/**
 * Registers the resolution of plugin imports when first called, because the hook slows down every import of the process. A module that a plugin
 * imports by a relative path gets the version of the plugin, so that a reload loads all its modules again. Packages that only the server has
 * resolve to those of the server.
 */
export function resolvePluginImports(): void {
  if (isRegistered) return;
  registerHooks({
    resolve(specifier, context, next) {
      const version = VERSION.exec(context.parentURL ?? '')?.[1];
      if (version === undefined) return next(specifier, context);
      if (specifier.startsWith('.')) {
        const resolved = next(specifier, context);
        return resolved.url.startsWith('file:') ? { ...resolved, url: `${resolved.url}?${version}` } : resolved;
      }
      if (!SHARED.has(specifier)) return next(specifier, context);
      try {
        return next(specifier, context);
      } catch {
        return next(specifier, { ...context, parentURL: import.meta.url });
      }
    },
  });
  isRegistered = true;
}
