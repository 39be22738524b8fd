/*
 * `npm run images:pin [-- --check]`: looks up the digest of every image that the Dockerfile and the compose files name,
 * at the registry of each, and writes it behind the version, which stays for people to read. An image that is pinned
 * already is looked up again and replaced. With `--check` nothing is written: it ends with 1 where a version has
 * another digest by now, or an image has none.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { URLSearchParams } from 'node:url';

/** Where images are named; those that are built here have no registry. */
const FILES = ['Dockerfile', 'docker-compose.yml', 'ops/docker/secure.yml'];
const BUILT_HERE = 'quittance:local';
const NAMED = /^(\s*image:\s+|FROM\s+)(\S+)/gm;
const IMAGE =
  /^(?<name>[a-z0-9][a-z0-9./_:-]*?):(?<version>[A-Za-z0-9_][A-Za-z0-9._-]*)(@(?<digest>sha256:[0-9a-f]{64}))?$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;
/** Of several platforms first: one digest must stand for the image on every machine. */
const MANIFESTS = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
].join(', ');
const TIMEOUT_MS = 20_000;

/** The images of a text, each once; throws for one that does not name an exact version. */
export function imagesIn(text) {
  const named = [...text.matchAll(NAMED)].map(([, , image]) => image).filter((image) => image !== BUILT_HERE);
  return [...new Set(named)].map((image) => {
    const parts = IMAGE.exec(image)?.groups;
    if (!parts || parts.version === 'latest') throw new Error(`${image}: name an exact version`);
    return { image, name: parts.name, version: parts.version, digest: parts.digest ?? null };
  });
}

/** Registry and repository, by the rules of Docker for short names. */
function placeOf(name) {
  const [first, ...rest] = name.split('/');
  if (rest.length > 0 && /[.:]|^localhost$/.test(first)) return { registry: first, repository: rest.join('/') };
  return { registry: 'registry-1.docker.io', repository: rest.length === 0 ? `library/${name}` : name };
}

const originOf = (registry) => `${/^(localhost|127\.0\.0\.1)(:|$)/.test(registry) ? 'http' : 'https'}://${registry}`;

/** The digest that the registry has for a version now. Throws in words for the operator. */
export async function digestOf({ name, version }) {
  const { registry, repository } = placeOf(name);
  const url = `${originOf(registry)}/v2/${repository}/manifests/${version}`;
  const ask = (more = {}) =>
    fetch(url, { method: 'HEAD', headers: { accept: MANIFESTS, ...more }, signal: AbortSignal.timeout(TIMEOUT_MS) });
  let answer = await ask();
  if (answer.status === 401)
    answer = await ask({ authorization: `Bearer ${await tokenFor(answer.headers.get('www-authenticate') ?? '')}` });
  if (!answer.ok) throw new Error(`${registry} answered ${answer.status} for ${repository}:${version}`);
  const digest = answer.headers.get('docker-content-digest') ?? '';
  if (!DIGEST.test(digest)) throw new Error(`${registry} named no digest for ${repository}:${version}`);
  return digest;
}

/** Anyone gets a token for what is public. */
async function tokenFor(challenge) {
  const { realm, ...asked } = Object.fromEntries(
    [...challenge.matchAll(/(realm|service|scope)="([^"]*)"/g)].map(([, name, value]) => [name, value]),
  );
  if (!realm) throw new Error('the registry wants a sign-in that it does not explain');
  const answer = await fetch(`${realm}?${new URLSearchParams(asked)}`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  const { token, access_token: other } = await answer.json();
  if (!answer.ok || !(token ?? other)) throw new Error(`${new URL(realm).host} gave no token`);
  return token ?? other;
}

/** What differs, in lines for people; writes it unless it only checks. */
export async function pin(directory, check) {
  const told = [];
  let faults = 0;
  for (const file of FILES) {
    const path = join(directory, file);
    const text = readFileSync(path, 'utf8');
    let next = text;
    for (const known of imagesIn(text)) {
      const now = await digestOf(known).catch((error) => ({ fault: error.cause?.code ?? error.message }));
      if (typeof now !== 'string') {
        faults += 1;
        told.push(`${file}: ${known.image} was not looked up: ${now.fault}`);
      } else if (now !== known.digest) {
        if (check) faults += 1;
        told.push(
          `${file}: ${known.name}:${known.version} ${known.digest === null ? 'has no digest here, it is' : `was ${known.digest}, is`} ${now}`,
        );
        next = next.replaceAll(NAMED, (line, before, image) =>
          image === known.image ? `${before}${known.name}:${known.version}@${now}` : line,
        );
      }
    }
    if (!check && next !== text) writeFileSync(path, next);
  }
  return { told, faults };
}

if (process.argv[1] === import.meta.filename) {
  const { told, faults } = await pin(join(import.meta.dirname, '..'), process.argv.includes('--check'));
  for (const line of told) console.log(line);
  console.log(
    faults === 0 ? 'every image is pinned' : `${faults} images are not pinned, or not as the registry has them`,
  );
  process.exitCode = faults === 0 ? 0 : 1;
}
