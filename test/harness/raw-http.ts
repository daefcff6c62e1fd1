import { connect, type Socket } from 'node:net';

/** A request written by hand, over a connection of its own. */
export interface RawRequest {
  readonly method?: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A connection that sends invalid HTTP. */
export class RawConnection {
  private text = '';
  private onChange: () => void = () => undefined;
  private isClosed = false;

  private constructor(private readonly socket: Socket) {
    socket.on('data', (data) => {
      this.text += data.toString('latin1');
      this.onChange();
    });
    socket.on('error', () => undefined); // the close that follows is what tests wait for
    socket.once('close', () => {
      this.isClosed = true;
      this.onChange();
    });
  }

  /** Connects and sends the head of a request. */
  static send(url: string, { method = 'POST', path, headers }: RawRequest): RawConnection {
    const { hostname, port, host } = new URL(url);
    const connection = new RawConnection(connect({ host: hostname, port: Number(port) }));
    const lines = Object.entries({ Host: host, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
    connection.socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`);
    return connection;
  }

  /** Writes `bytes` repeatedly until the server closes the connection. Resolves with the number of bytes it took. */
  async writeUntilClosed(bytes: Buffer): Promise<number> {
    const write = () => {
      while (!this.isClosed && this.socket.writable && this.socket.write(bytes));
    };
    this.socket.on('drain', write);
    write();
    await this.closed();
    return this.socket.bytesWritten;
  }

  /** Writes once. */
  write(bytes: string | Buffer): void {
    this.socket.write(bytes);
  }

  /** The status of the response, once it has arrived whole with its headers; 0: the connection was closed without one. */
  async status(): Promise<number> {
    await this.until(() => this.text.includes('\r\n\r\n'));
    return Number(/^HTTP\/1\.1 (\d{3})/.exec(this.text)?.[1] ?? 0);
  }

  /** Everything that was received. */
  get received(): string {
    return this.text;
  }

  /** Resolves when the server has closed the connection. */
  async closed(): Promise<void> {
    await this.until(() => this.isClosed);
  }

  close(): void {
    this.socket.destroy();
  }

  private until(isReached: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      this.onChange = () => {
        if (!isReached() && !this.isClosed) return;
        this.onChange = () => undefined;
        resolve();
      };
      this.onChange();
    });
  }
}
