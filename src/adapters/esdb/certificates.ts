import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { connect } from 'node:tls';
import { certificatesIn, type ClientSettings, type Endpoint, parseConnectionString } from './client/settings.ts';

export interface CertificateExpiry {
  /** `authority`, or the host and port that show it. */
  readonly certificate: string;
  readonly expiresAtMs: number;
}

const EVERY_MS = 3_600_000;
const PATIENCE_MS = 5_000;

/** When the certificates of an event store end: looked at in the authority's file and at every host, each hour. */
export class StoreCertificates {
  readonly #settings: ClientSettings;
  readonly #known = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;

  constructor(connectionString: string, everyMs = EVERY_MS) {
    this.#settings = parseConnectionString(connectionString);
    this.#timer = setInterval(() => this.#look(), everyMs).unref();
    this.#look();
  }

  /** None without TLS. A host that does not answer keeps what it showed last. */
  expiries(): CertificateExpiry[] {
    return [...this.#known].map(([certificate, expiresAtMs]) => ({ certificate, expiresAtMs }));
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
  }

  #look(): void {
    const { tls, endpoints } = this.#settings;
    if (!tls) return;
    if (tls.authority !== undefined) this.#note('authority', () => expiryOf(readFileSync(tls.authority ?? '', 'utf8')));
    for (const { host, port } of endpoints)
      shownBy({ host, port }, (validTo) => this.#note(`${host}:${port}`, () => Date.parse(validTo)));
  }

  #note(certificate: string, expiry: () => number): void {
    try {
      const expiresAtMs = expiry();
      if (Number.isFinite(expiresAtMs)) this.#known.set(certificate, expiresAtMs);
    } catch {
      // A file that is being replaced is read again in an hour.
    }
  }
}

/** Of several, as while an authority is replaced, the last: one that lasts is enough. */
const expiryOf = (pem: string): number => Math.max(...certificatesIn(pem).map(({ validTo }) => Date.parse(validTo)));

/** Also of one that has expired or that nobody trusts: nothing is sent. */
function shownBy({ host, port }: Endpoint, tell: (validTo: string) => void): void {
  const socket = connect({
    ...{ host, port, rejectUnauthorized: false, ALPNProtocols: ['h2'], timeout: PATIENCE_MS },
    ...(isIP(host) === 0 && { servername: host }),
  });
  socket.unref();
  socket.once('secureConnect', () => {
    tell(socket.getPeerCertificate().valid_to);
    socket.destroy();
  });
  socket.once('timeout', () => socket.destroy());
  socket.on('error', () => socket.destroy());
}
