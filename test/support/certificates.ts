import { createPublicKey, generateKeyPairSync, randomBytes, sign, X509Certificate, type KeyObject } from 'node:crypto';

/** X.509 certificates made on the spot (RFC 5280), so that no test key or expiry date is kept anywhere. */
export interface MadeCertificate {
  readonly cert: string;
  readonly key: string;
}

interface CertificateOptions {
  readonly name: string;
  readonly hosts?: readonly string[];
  readonly notBefore?: Date;
  readonly notAfter?: Date;
}

const DAY_MS = 86_400_000;

export class CertificateAuthority {
  readonly cert: string;
  readonly #key: KeyObject;
  readonly #name: string;

  constructor(name = 'Test Authority') {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.#key = privateKey;
    this.#name = name;
    this.cert = certificate({ name }, name, privateKey, privateKey, true);
  }

  issue(options: CertificateOptions): MadeCertificate {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    return {
      cert: certificate(options, this.#name, privateKey, this.#key, false),
      key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    };
  }
}

export function selfSigned(options: CertificateOptions): MadeCertificate {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return {
    cert: certificate(options, options.name, privateKey, privateKey, false),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  };
}

function der(tag: number, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const length =
    body.length < 128
      ? [body.length]
      : body.length < 256
        ? [0x81, body.length]
        : [0x82, body.length >> 8, body.length & 255];
  return Buffer.concat([Buffer.from([tag, ...length]), body]);
}

const sequence = (...parts: Buffer[]): Buffer => der(0x30, ...parts);
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));
const TRUE = der(0x01, Buffer.from([0xff]));
const ECDSA_SHA256 = sequence(oid('2a8648ce3d040302'));

const nameOf = (text: string): Buffer => sequence(der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from(text)))));
const timeOf = (date: Date): Buffer => der(0x18, Buffer.from(date.toISOString().replace(/[-:T]|\.\d+/g, '')));

function extensions(hosts: readonly string[], isAuthority: boolean): Buffer {
  const constraints = sequence(oid('551d13'), TRUE, der(0x04, sequence(...(isAuthority ? [TRUE] : []))));
  const names = hosts.map((host) =>
    /^[\d.]+$/.test(host) ? der(0x87, Buffer.from(host.split('.').map(Number))) : der(0x82, Buffer.from(host)),
  );
  const alternative = sequence(oid('551d11'), der(0x04, sequence(...names)));
  return der(0xa3, sequence(constraints, ...(names.length > 0 ? [alternative] : [])));
}

function certificate(
  options: CertificateOptions,
  issuer: string,
  subjectKey: KeyObject,
  issuerKey: KeyObject,
  isAuthority: boolean,
): string {
  const {
    name,
    hosts = [],
    notBefore = new Date(Date.now() - DAY_MS),
    notAfter = new Date(Date.now() + DAY_MS),
  } = options;
  const serial = der(0x02, Buffer.concat([Buffer.from([0x01]), randomBytes(8)]));
  const publicKey = createPublicKey(subjectKey).export({ type: 'spki', format: 'der' });
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    serial,
    ECDSA_SHA256,
    nameOf(issuer),
    sequence(timeOf(notBefore), timeOf(notAfter)),
    nameOf(name),
    publicKey,
    extensions(hosts, isAuthority),
  );
  const signature = der(0x03, Buffer.from([0]), sign('sha256', body, issuerKey));
  return new X509Certificate(sequence(body, ECDSA_SHA256, signature)).toString();
}
