import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { X509Certificate } from 'node:crypto';
import { afterEach, expect, test } from 'vitest';
import { StoreCertificates } from '../../src/adapters/esdb/certificates.ts';
import { openEsdbEventStore } from '../../src/adapters/esdb/event-store.ts';
import { CertificateAuthority } from '../support/certificates.ts';
import { EsdbDouble } from '../support/esdb-double/esdb-double.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { appendOf, FIRST, until } from './event-store-samples.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function startedWith(authority: CertificateAuthority, port = 0, hosts = ['localhost', '127.0.0.1']) {
  const certificate = authority.issue({ name: 'node', hosts });
  const double = await EsdbDouble.start({ port, secured: { adminPassword: 'admin-word', certificate } });
  closing.push(() => double.stop());
  return { double, endsAtMs: Date.parse(new X509Certificate(certificate.cert).validTo) };
}

test('the ends of the certificates of hosts and authority are known, those that nobody trusts included', async () => {
  const [authority, stranger] = [new CertificateAuthority(), new CertificateAuthority()];
  const file = join(temporaryFolder('certificates'), 'ca.crt');
  writeFileSync(file, authority.cert);
  const [one, other] = [await startedWith(authority), await startedWith(stranger)];
  const hosts = `localhost:${one.double.port},127.0.0.1:${other.double.port},127.0.0.1:1`;
  const certificates = new StoreCertificates(`esdb://admin:admin-word@${hosts}?tls=true&tlsCAFile=${file}`, 20);
  closing.push(() => certificates.close());
  await until('both have shown theirs', () => certificates.expiries().length === 3);
  expect(new Map(certificates.expiries().map((each) => [each.certificate, each.expiresAtMs]))).toEqual(
    new Map([
      ['authority', Date.parse(new X509Certificate(authority.cert).validTo)],
      [`localhost:${one.double.port}`, one.endsAtMs],
      [`127.0.0.1:${other.double.port}`, other.endsAtMs],
    ]),
  );
});

test('without TLS there are none', () => {
  const certificates = new StoreCertificates('esdb://127.0.0.1:1?tls=false');
  closing.push(() => certificates.close());
  expect(certificates.expiries()).toEqual([]);
});

test('an authority and its certificates are replaced without a restart of the service', async () => {
  const [old, next] = [new CertificateAuthority('Old Authority'), new CertificateAuthority('Next Authority')];
  const file = join(temporaryFolder('renewal'), 'ca.crt');
  writeFileSync(file, old.cert);
  const { double } = await startedWith(old);
  const { port } = double;
  const store = await openEsdbEventStore({
    connectionString: `esdb://admin:admin-word@localhost:${port}?tls=true&tlsCAFile=${file}`,
    ...{ attemptMs: 1_000, totalMs: 12_000 },
  });
  closing.push(() => store.close());
  await store.append(appendOf('s-1', FIRST));
  writeFileSync(file, `${old.cert}\n${next.cert}`);
  await double.stop();
  await startedWith(next, port);
  expect(await store.append(appendOf('s-2', FIRST))).toMatchObject({ ok: true });
});
