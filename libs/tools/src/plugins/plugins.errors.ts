import { AppError } from '#platform';

/** A plugin cannot be loaded: the process must not start without it. `reason` is a sentence without its full stop. */
export function pluginRefused(file: string, reason: string, cause?: unknown): AppError {
  return new AppError({
    code: 'plugin_refused',
    message: `The plugin ${file} cannot be loaded: ${reason}.`,
    details: { file, reason },
    cause,
  });
}
