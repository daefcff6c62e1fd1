/** The process's environment, read here and nowhere else. */
export function processEnvironment(): Readonly<Record<string, string | undefined>> {
  return process.env;
}
