import { AppError } from '#platform';

/** A server has exactly one transport. */
export function oneTransport(): AppError {
  return new AppError({ code: 'bad_request', message: 'Give http or stdio, one of them', field: 'http' });
}

/** The transport of a server cannot change. */
export function otherTransport(field: 'http' | 'stdio'): AppError {
  const message = `${field}: this server is reached in another way, set up a new one instead`;
  return new AppError({ code: 'bad_request', message, field });
}
