#!/usr/bin/env bash
# GitHub disables schedules after 60 days without a commit; enabling them again starts the count anew. TOKEN may write
# actions. The header comes by standard input: an argument would show in the list of processes.
set -euo pipefail

for workflow in migrate.yml sync.yml; do
  printf 'Authorization: Bearer %s\n' "${TOKEN:?}" |
    curl --fail --silent --show-error --request PUT --header @- --header "Accept: application/vnd.github+json" \
      "${GITHUB_API_URL:?}/repos/${GITHUB_REPOSITORY:?}/actions/workflows/$workflow/enable"
done
echo "schedules stay enabled"
