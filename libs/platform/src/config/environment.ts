/** The environment of the process. Only this function reads it. */
export function processEnvironment(): Readonly<Record<string, string | undefined>> {
  return process.env;
}
