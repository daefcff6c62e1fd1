import { AppError } from '#platform';

/** A server is reached in one way. */
export function oneTransport(): AppError {
  return new AppError({ code: 'bad_request', message: 'Give http or stdio, one of them', field: 'http' });
}

/** A server over HTTP does not become a process, nor the other way round. */
export function otherTransport(field: 'http' | 'stdio'): AppError {
  const message = `${field}: this server is reached in another way, set up a new one instead`;
  return new AppError({ code: 'bad_request', message, field });
}
