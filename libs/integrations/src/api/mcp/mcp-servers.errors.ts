import { AppError } from '#platform';

/** A server has exactly one transport. */
export function oneTransport(): AppError {
  return new AppError({ code: 'bad_request', message: 'Set either http or stdio', field: 'http' });
}

/** The transport of a server cannot change. */
export function otherTransport(field: 'http' | 'stdio'): AppError {
  const message = `${field}: the transport of this server cannot change. Register a new server instead`;
  return new AppError({ code: 'bad_request', message, field });
}
