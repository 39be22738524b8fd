/*
 * `npm run sbom [-- <file>]` writes a software bill of materials (CycloneDX) of what an installation runs, without
 * asking anybody.
 * `npm run audit:packages` asks the registry for known vulnerabilities of the same packages: ends with 1 where there
 * are some, with 2 where the registry did not answer, which says nothing about the packages.
 */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');

function npm(...args) {
  const { stdout, status } = spawnSync('npm', args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 << 20,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return { stdout, status };
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function billOfMaterials(file = 'sbom.json') {
  const { stdout } = npm('sbom', '--sbom-format', 'cyclonedx', '--omit', 'dev', '--package-lock-only');
  const bill = parsed(stdout);
  if (!bill?.components) {
    console.error('npm made no bill of materials: run `npm ci` first, with npm 9.5 or newer');
    return 1;
  }
  writeFileSync(file, `${JSON.stringify(bill, null, 2)}\n`);
  console.log(`${file}: ${bill.components.length} packages`);
  return 0;
}

function vulnerabilities() {
  const { stdout } = npm('audit', '--omit', 'dev', '--json');
  const answer = parsed(stdout);
  const counted = answer?.metadata?.vulnerabilities;
  if (!counted) {
    console.error(
      `nobody looked: the registry did not answer (${answer?.message ?? 'no answer'}). This says nothing about the packages.`,
    );
    return 2;
  }
  for (const { name, severity, range, fixAvailable } of Object.values(answer.vulnerabilities ?? {}))
    console.log(`${severity}: ${name} ${range}${fixAvailable ? ', mended in a newer version' : ''}`);
  console.log(`${counted.total} known vulnerabilities in ${answer.metadata.dependencies?.prod ?? 'the'} packages`);
  return counted.total === 0 ? 0 : 1;
}

const [what, file] = process.argv.slice(2);
if (what === 'sbom') process.exitCode = billOfMaterials(file);
else if (what === 'audit') process.exitCode = vulnerabilities();
else throw new Error('node scripts/supply-chain.mjs sbom [<file>] | audit');
