import { createServer } from 'node:net';
import { systemCode } from '../errors.ts';

/** Tells whether nothing listens on any of these ports, by binding each on both loopback addresses for a moment. */
export async function arePortsFree(first: number, last: number): Promise<boolean> {
  const ports = Array.from({ length: last - first + 1 }, (_, at) => first + at);
  const free = await Promise.all(ports.flatMap((port) => [isFree(port, '127.0.0.1'), isFree(port, '::1')]));
  return free.every(Boolean);
}

function isFree(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.unref();
    // A machine without IPv6 has nothing that listens there.
    server.once('error', (error) => resolve(/^(EADDRNOTAVAIL|EAFNOSUPPORT)$/.test(systemCode(error) ?? '')));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
