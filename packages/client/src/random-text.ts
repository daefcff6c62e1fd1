/** 32 random characters. Browsers have `crypto.randomUUID` in a secure context only, so this function does not use it. */
export function randomText(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
