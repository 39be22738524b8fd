# One image for every role: ROLES says what a container does (docs/operations.md, "Containers").
FROM node:24.21.0-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY packages/client/package.json packages/client/
# No package may run a script of its own here; none of them reaches the image except inside the programs.
RUN npm ci --ignore-scripts
COPY CHANGELOG.md LICENSE SECURITY.md ./
COPY bin ./bin
COPY docs ./docs
COPY ops ./ops
COPY scripts/build.ts scripts/
COPY packages/client/src packages/client/src
COPY state-machines ./state-machines
COPY projections ./projections
COPY src ./src
RUN node scripts/build.ts

FROM node:24.21.0-bookworm-slim AS service
# What installs packages is not needed to run them.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /opt/yarn-* /usr/local/bin/yarn /usr/local/bin/yarnpkg \
  && mkdir -p /var/lib/quittance/data /var/lib/quittance/journal /var/lib/quittance-snapshots \
  && chown -R node:node /var/lib/quittance /var/lib/quittance-snapshots \
  && chmod -R 700 /var/lib/quittance /var/lib/quittance-snapshots
WORKDIR /app
# Owned by root and not writable by the service: what runs cannot be changed from within.
COPY --from=build /app/dist ./
ENV NODE_ENV=production HOST=0.0.0.0 DATA_DIR=/var/lib/quittance/data SIGNER_JOURNAL_DIR=/var/lib/quittance/journal
USER node
VOLUME /var/lib/quittance
EXPOSE 8080 9464
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=3s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.OPS_PORT || 9464}/healthz`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/bin/quittance.mjs"]
CMD ["serve"]
