# The program in an image: docker build -t saltus .
# then: docker run --rm --volume "$PWD:/models" saltus run MODEL.mo
FROM debian:12 AS build
COPY . /saltus
WORKDIR /saltus
RUN apt-get update \
 && sed -n '/^# \[run\]/,/^# \[test\]/p' packages.txt | grep -v '^#' \
    | xargs apt-get install --yes --no-install-recommends dpkg-dev file
RUN cmake --preset release \
 && cmake --build --preset release \
 && cpack --config build/release/CPackConfig.cmake -B /package

FROM debian:12
COPY --from=build /package/saltus_*.deb /package/
RUN apt-get update \
 && apt-get install --yes --no-install-recommends /package/saltus_*.deb gnuplot-nox fonts-dejavu-core \
 && rm -rf /package /var/lib/apt/lists/*
WORKDIR /models
ENTRYPOINT ["saltus"]
